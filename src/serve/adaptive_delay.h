// Until when a batch that forms waits for another request while an instance is idle: `ridge_queue_delay` "auto". Pure.
//
// Let n requests of R rows wait, let the next, of r = R / n rows, come after a gap g, and let s(b) be the time of a run
// of b rows. If the n run now, the next waits for the rest of that run and then runs alone; all times from now on, and
// its own from when it comes, add up to
//     n s(R) + (s(R) - g + s(r)).
// If they wait, all run together, and the times add up to
//     (n + 1) s(R + r) + n g.
// Waiting gains the difference, (n + 1) (G - g) with
//     G = s(r) / (n + 1) - (s(R + r) - s(R)):
// it pays for gaps shorter than G, which is what a run of its own costs, shared by all, less what a larger run costs
// each. The wait ends after G without a request, which has lost n G. So it is begun only if the latest gaps, each taken
// as the next one, gain on the whole. One step is looked ahead: each new request asks again with a smaller G.
#pragma once

#include "base/clock.h"
#include "serve/arrivals.h"
#include "serve/service_times.h"

namespace ridge::serve {

// Takes a batch of that many requests and rows. Returns the last arrival if waiting does not pay, or is unknown.
TimePoint delay_pays_until(size_t requests, int64_t rows, const Arrivals& arrivals, const ServiceTimes& times);

}  // namespace ridge::serve
