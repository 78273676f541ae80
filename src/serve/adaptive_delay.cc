#include "serve/adaptive_delay.h"

#include <algorithm>

namespace ridge::serve {

TimePoint delay_pays_until(size_t requests, int64_t rows, const Arrivals& arrivals, const ServiceTimes& times) {
  const auto n = static_cast<int64_t>(requests);
  if (n == 0 || times.empty()) return arrivals.last();
  const int64_t next_rows = std::max<int64_t>(1, rows / n);
  if (next_rows < times.least_rows()) return arrivals.last();  // a run that small measures it
  const Nanoseconds more = times.usual(rows + next_rows) - times.usual(rows);
  const Nanoseconds longest = times.usual(next_rows) / (n + 1) - std::max(Nanoseconds(0), more);
  Nanoseconds gain{0};
  for (const Nanoseconds gap : arrivals.gaps()) gain += gap < longest ? (n + 1) * (longest - gap) : -n * longest;
  return longest > Nanoseconds(0) && gain > Nanoseconds(0) ? arrivals.last() + longest : arrivals.last();
}

}  // namespace ridge::serve
