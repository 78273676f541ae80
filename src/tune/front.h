// Measured candidates on one scale. Each was measured beside the untuned model, at a time of its own; its figures are
// brought to the machine's speed at one reference, so that rates and gains agree. Pure.
#pragma once

#include <vector>

#include "tune/search.h"

namespace ridge::tune {

// The figures as if the untuned model made `untuned_rows_per_s`; the rate is its gain times that.
Standing at_speed(Standing standing, double untuned_rows_per_s);

// Points that no other beats in rows/s, p99, memory and, where measured, energy, by falling rows/s. `chosen`, the
// answer, is among them in any case, if it is among `points`.
std::vector<Standing> pareto_front(const std::vector<Standing>& points, const Candidate& chosen);

}  // namespace ridge::tune
