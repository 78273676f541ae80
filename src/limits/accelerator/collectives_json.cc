// docs/contracts.md, "Several GPUs".
#include <nlohmann/json.hpp>

#include "limits/accelerator/collectives.h"

namespace ridge::limits::accelerator {
namespace {

Json or_null_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json row_json(const CollectiveRow& row, size_t gpus) {
  Json json = {{"collective", gpu::nccl::collective_name(row.collective)}, {"bytes", row.bytes}};
  add_result(json, row.result, "bytes_per_s");
  const double factor = bus_factor(row.collective, gpus);
  json["bus_bytes_per_s"] = row.result.best ? Json(factor * *row.result.best) : Json(nullptr);
  json["typical_bus_bytes_per_s"] = row.result.typical ? Json(factor * *row.result.typical) : Json(nullptr);
  json["typical_seconds"] =
      row.result.typical ? Json(static_cast<double>(row.bytes) / *row.result.typical) : Json(nullptr);
  return json;
}

Json answer_json(const CollectiveAnswer& answer) {
  Json json = {{"collective", gpu::nccl::collective_name(answer.collective)},
               {"limit_bus_bytes_per_s", or_null_json(answer.limit_bytes_per_s)},
               {"origin", origin_name(Origin::kDerived)},
               {"bus_bytes_per_s", or_null_json(answer.bus_bytes_per_s)},
               {"bytes", answer.bytes},
               {"latency_s", or_null_json(answer.latency_s)},
               {"verdict", answer.normality ? Json(normality_name(*answer.normality)) : Json(nullptr)},
               {"sentence", answer.sentence}};
  if (answer.limit_bytes_per_s)
    json["usual"] = {{"bus_bytes_per_s", answer.usual.bytes_per_s}, {"said", answer.usual.said}};
  return json;
}

Json links_json_of(const GroupLinks& links) {
  return {{"text", links.text},
          {"nvlink_bytes_per_s", links.nvlink_bytes_per_s},
          {"pcie_bytes_per_s", links.pcie_bytes_per_s},
          {"parts", links.parts},
          {"by_switch", links.by_switch},
          {"switch_reduces", links.switch_reduces}};
}

}  // namespace

Json to_json(const CollectivesMeasurement& measured) {
  Json gpus = Json::array(), rows = Json::array(), answers = Json::array();
  for (const gpu::DeviceFacts& facts : measured.gpus) gpus.push_back(to_json(facts));
  for (const CollectiveRow& row : measured.rows) rows.push_back(row_json(row, measured.gpus.size()));
  for (const CollectiveAnswer& answer : measured.answers) answers.push_back(answer_json(answer));
  if (!measured.alone.empty()) return {{"cards", gpus}, {"reason", measured.alone}};
  return {{"cards", gpus},
          {"library", measured.library},
          {"links", measured.links ? links_json_of(*measured.links) : Json{{"reason", measured.links_reason}}},
          {"collectives", rows},
          {"answers", answers},
          {"failure", measured.failure.empty() ? Json(nullptr) : Json(measured.failure)},
          {"measured_at", measured.measured_at},
          {"seconds", measured.seconds}};
}

}  // namespace ridge::limits::accelerator
