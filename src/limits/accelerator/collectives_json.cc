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

Result<CollectiveRow> row_of(const Json& json) {
  CollectiveRow row;
  RIDGE_TRY(read_fields(json, [&](auto& visit) {
    visit("collective", row.collective);
    visit("bytes", row.bytes);
    visit_result(visit, row.result, "bytes_per_s");
  }));
  return row;
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

Result<CollectivesMeasurement> collectives_of(const Json& document) {
  CollectivesMeasurement measured;
  RIDGE_TRY(read_fields(document, [&](auto& visit) {
    visit("cards", measured.gpus);
    visit.optional("reason", measured.alone);
    visit.optional("library", measured.library);
    visit.optional("answers", measured.answers);
    visit.optional("measured_at", measured.measured_at);
    visit.optional("seconds", measured.seconds);
  }));
  if (!measured.alone.empty()) return measured;
  if (const auto failure = document.find("failure"); failure != document.end() && failure->is_string())
    measured.failure = failure->get<std::string>();
  if (const auto links = document.find("links"); links != document.end() && links->contains("reason")) {
    measured.links_reason = (*links)["reason"].get<std::string>();
  } else if (links != document.end()) {
    RIDGE_ASSIGN(measured.links, from_json<GroupLinks>(*links));
  }
  if (const auto rows = document.find("collectives"); rows != document.end())
    for (const Json& json : *rows) {
      RIDGE_ASSIGN(CollectiveRow row, row_of(json));
      measured.rows.push_back(std::move(row));
    }
  return measured;
}

}  // namespace ridge::limits::accelerator
