#include "cli/bench_device_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using limits::accelerator::CollectiveAnswer;
using limits::accelerator::CollectiveRow;
using limits::accelerator::CollectivesMeasurement;

std::string head_text(const CollectivesMeasurement& measured) {
  std::vector<std::vector<std::string>> rows;
  for (const gpu::DeviceFacts& facts : measured.gpus) rows.push_back({facts.device, facts.name});
  rows.push_back({"joined by", measured.links ? measured.links->text : "not known: " + measured.links_reason});
  rows.push_back({"library", measured.library});
  rows.push_back({"measured", fmt::format("{}, in {:.0f} s", measured.measured_at, measured.seconds)});
  return table({}, rows, "ll");
}

std::vector<std::string> row_text(const CollectiveRow& row, size_t gpus) {
  const limits::MetricResult& result = row.result;
  std::vector<std::string> cells = {std::string(gpu::nccl::collective_name(row.collective)),
                                    format_bytes(static_cast<double>(row.bytes))};
  if (!result.best || !result.typical) {
    cells.insert(cells.end(), 6, "-");
    cells.push_back("not measured: " + result.reason);
    return cells;
  }
  const double factor = limits::accelerator::bus_factor(row.collective, gpus);
  cells.push_back(format_ms(1e3 * static_cast<double>(row.bytes) / *result.typical));
  cells.push_back(format_bandwidth(*result.typical));
  cells.push_back(format_bandwidth(factor * *result.typical));
  cells.push_back(format_bandwidth(factor * *result.best));
  cells.push_back(result.utilisation.empty() ? "-" : format_percent(result.utilisation.front().percent));
  cells.push_back(format_percent(result.spread_percent));
  cells.push_back(std::to_string(result.bursts));
  return cells;
}

std::string rows_text(const CollectivesMeasurement& measured) {
  std::vector<std::vector<std::string>> rows;
  for (const CollectiveRow& row : measured.rows) rows.push_back(row_text(row, measured.gpus.size()));
  return table({"operation", "size", "time", "rate", "bus", "best", "share of the limit", "spread", "bursts"}, rows,
               "lrrrrr2rr3r1");
}

}  // namespace

std::string collectives_text(const CollectivesMeasurement& measured) {
  if (!measured.alone.empty()) return measured.alone;
  std::string text = head_text(measured) + "\n" + rows_text(measured);
  for (const CollectiveAnswer& answer : measured.answers)
    text += "\n" + paragraph("", answer.sentence, 0, prose_columns());
  return text;
}

}  // namespace ridge::cli
