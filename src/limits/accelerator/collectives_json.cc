// docs/contracts.md, "Several GPUs".
#include <nlohmann/json.hpp>

#include "limits/accelerator/collectives.h"

namespace ridge::limits::accelerator {
namespace {

Json row_json(const CollectiveRow& row, size_t gpus) {
  const double factor = bus_factor(row.collective, gpus);
  const std::optional<double>&best = row.result.best, &typical = row.result.typical;
  Json json;
  FieldWriter visit(json);
  visit("collective", row.collective);
  visit("bytes", row.bytes);
  visit_result(visit, row.result, "bytes_per_s");
  visit("bus_bytes_per_s", best ? std::optional(factor * *best) : std::nullopt);
  visit("typical_bus_bytes_per_s", typical ? std::optional(factor * *typical) : std::nullopt);
  visit("typical_seconds", typical ? std::optional(static_cast<double>(row.bytes) / *typical) : std::nullopt);
  return json;
}

}  // namespace

Json to_json(const CollectivesMeasurement& measured) {
  Json json, rows = Json::array();
  for (const CollectiveRow& row : measured.rows) rows.push_back(row_json(row, measured.gpus.size()));
  FieldWriter visit(json);
  visit("cards", measured.gpus);
  if (!measured.alone.empty()) return visit("reason", measured.alone), json;
  visit("library", measured.library);
  if (measured.links)
    visit("links", *measured.links);
  else
    visit.object("links", [&](auto& links) { links("reason", measured.links_reason); });
  visit("collectives", rows);
  visit("answers", measured.answers);
  visit.or_null("failure", measured.failure);
  visit("measured_at", measured.measured_at);
  visit("seconds", measured.seconds);
  return json;
}

}  // namespace ridge::limits::accelerator
