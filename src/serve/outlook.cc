#include "serve/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ridge::serve {

namespace {

// The rows of the batches that give the most answers by a deadline of that time, if one follows the other and `per_ns`
// rows arrive: a batch of n rows that takes s can have those of the last min(s, deadline - s) before it.
int64_t rows_of_best_batch(int64_t whole, Nanoseconds deadline, double per_ns, const ServiceTimes& times) {
  int64_t best = whole;
  double best_rate = 0;
  for (int64_t rows = whole; rows > 0; rows = std::min(rows - 1, rows * 4 / 5)) {
    const auto time = static_cast<double>(std::max<int64_t>(1, times.expected(rows).count()));
    const double window = std::min(time, static_cast<double>(deadline.count()) - time);
    const double rate = std::min(static_cast<double>(rows), per_ns * window) / time;
    if (rate <= best_rate) continue;
    best = rows;
    best_rate = rate;
  }
  return best;
}

}  // namespace

Outlook outlook_of(int64_t rows, const Ahead& ahead, QueueLoad load, const TimeLimits& limits,
                   const ServiceTimes& times) {
  const double requests = static_cast<double>(ahead.requests);
  const double rows_each = static_cast<double>(ahead.rows + rows) / (requests + 1);
  const double per_ns = rows_each / std::max(1.0, static_cast<double>(load.gap.count()));  // [rows/ns]
  const auto whole = std::max(
      rows, std::min(load.rows_per_batch, static_cast<int64_t>(std::ceil(load.requests_per_batch * rows_each))));
  const int64_t batch = rows_of_best_batch(whole, limits.answer, per_ns, times);
  const double per_batch = std::max(1.0, static_cast<double>(batch) / rows_each);  // [requests]
  const auto batches = static_cast<size_t>(requests / per_batch);

  std::sort(load.free_in.begin(), load.free_in.end());
  const size_t instances = load.free_in.size();
  Outlook outlook;
  outlook.wait = load.free_in[batches % instances] + static_cast<int64_t>(batches / instances) * times.expected(batch);

  const double before = (requests - static_cast<double>(batches) * per_batch) * rows_each;
  const double own = std::ceil(before) + static_cast<double>(rows);
  const double grown = own + static_cast<double>(outlook.wait.count()) * per_ns;
  outlook.run = times.expected(static_cast<int64_t>(std::min(grown, std::max(own, static_cast<double>(batch)))));
  return outlook;
}

Status check_outlook(const Outlook& outlook, const TimeLimits& limits, const std::string& model) {
  const Nanoseconds late_start = outlook.wait - limits.in_queue;
  const Nanoseconds late_answer = outlook.wait + outlook.run - limits.answer;
  if (std::max(late_start, late_answer) <= Nanoseconds(0)) return {};
  const bool of_answer = late_answer >= late_start;
  return Error{
      Code::kUnavailable,
      fmt::format("the request would wait {:.4g} ms and run {:.4g} ms in model '{}', {} is {:.4g} ms; send it later, "
                  "or to another server",
                  to_ms(outlook.wait), to_ms(outlook.run), model, of_answer ? "the deadline" : "its queue timeout",
                  to_ms(of_answer ? limits.answer : limits.in_queue)),
      std::max(late_start, late_answer)};
}

}  // namespace ridge::serve
