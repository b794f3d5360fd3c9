/** Whether this is the long run: `npm run test:long`. */
export const isLong = process.env.KEELSON_TEST_LONG !== undefined;
