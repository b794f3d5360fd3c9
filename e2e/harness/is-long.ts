/** Whether this is the fast run: `npm run test:unit`. */
export const isFast = process.env.KEELSON_TEST_FAST !== undefined;
/** Whether this is the long run: `npm run test:long`. */
export const isLong = process.env.KEELSON_TEST_LONG !== undefined;
