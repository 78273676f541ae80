// The difference between two kept measurements, judged by the distributions of their samples. Pure.
//
// Neighbouring samples are correlated, so a measurement is worth fewer independent ones than it has: the number that
// explains the interval of its mean, which allows for that (half_width_in_time, measure/statistics.h). An interval
// covers what varies within a process; what differs from one start of it to the next is not in it.
#pragma once

#include "measure/measurement.h"
#include "measure/statistics.h"

namespace ridge::measure {

// 1 … samples.
double independent_samples(const Measurement& measured);

// ln(now / before) of the mean latency and of a percentile, with the half-width of its interval; infinite where the
// samples are too few: fewer than four independent ones beyond the percentile.
MeanDifference mean_latency_difference(const Measurement& before, const Measurement& now, double confidence);
MeanDifference percentile_difference(const Measurement& before, const Measurement& now, double percent,
                                     double confidence);

}  // namespace ridge::measure
