#include "client/token_figures.h"

#include <algorithm>
#include <unordered_map>

#include "measure/statistics.h"

namespace ridge::client {
namespace {

std::optional<measure::Latency> distribution(std::span<const double> values_ms) {
  if (values_ms.empty()) return std::nullopt;
  return measure::latency_of(values_ms);
}

}  // namespace

TokenFigures token_figures(std::span<const measure::TimedRun> runs, std::span<const TokenRecord> records,
                           double requests_per_s, const TokenGoals& goals) {
  std::unordered_map<int64_t, const TokenRecord*> by_number;
  for (const TokenRecord& record : records) by_number[record.number] = &record;
  TokenFigures figures;
  std::vector<double> ttft, itl, tpot, late;
  int64_t good = 0;
  for (const measure::TimedRun& run : runs) {
    const auto found = by_number.find(run.number);
    if (run.failure != 0 || found == by_number.end()) continue;
    const TokenRecord& record = *found->second;
    ++figures.requests;
    figures.prompt_tokens += record.prompt_tokens;
    figures.output_tokens += record.output_tokens;
    figures.events += record.events;
    late.push_back(to_ms(std::max(record.sent, run.due) - run.due));
    bool within = true;
    if (record.first != TimePoint()) {
      ttft.push_back(to_ms(record.first - run.due));
      within = !goals.ttft_ms || ttft.back() <= *goals.ttft_ms;
      itl.insert(itl.end(), record.gaps_ms.begin(), record.gaps_ms.end());
      if (record.output_tokens > 1) {
        tpot.push_back(to_ms(record.last - record.first) / static_cast<double>(record.output_tokens - 1));
        within = within && (!goals.tpot_ms || tpot.back() <= *goals.tpot_ms);
      }
    }
    good += within;
  }
  if (figures.requests == 0) return figures;
  const double per_request = requests_per_s / static_cast<double>(figures.requests);
  figures.output_per_s = per_request * static_cast<double>(figures.output_tokens);
  figures.prompt_per_s = per_request * static_cast<double>(figures.prompt_tokens);
  figures.ttft_ms = distribution(ttft);
  figures.itl_ms = distribution(itl);
  figures.tpot_ms = distribution(tpot);
  figures.late_ms = distribution(late);
  if (goals.ttft_ms || goals.tpot_ms) figures.goodput_per_s = per_request * static_cast<double>(good);
  return figures;
}

}  // namespace ridge::client
