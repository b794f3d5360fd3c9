/** Preload that breaks a replica: its log holds some events twice. */
import { EventRing } from "../../../storage/cache/event-ring.js";

const EVERY = 25;

const append = EventRing.prototype.append;
const counter = { events: 0 };

EventRing.prototype.append = function repeating(this: EventRing, event) {
  append.call(this, event);
  if (event.state.path.startsWith("fire-") && ++counter.events % EVERY === 0) {
    append.call(this, event);
  }
};
