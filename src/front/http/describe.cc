#include "front/http/describe.h"

#include <nlohmann/json.hpp>

#include "front/describe.h"
#include "front/model_metrics.h"

namespace ridge::front::http {
namespace {

Json tensors(std::span<const TensorSpec> specs) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs)
    list.push_back({{"name", spec.name}, {"datatype", std::string(data_type_name(spec.type))}, {"shape", spec.shape}});
  return list;
}

Json duration(const serve::DurationStatistic& statistic) { return {{"count", statistic.count}, {"ns", statistic.ns}}; }

Json batches(std::span<const serve::BatchStatistic> statistics) {
  Json list = Json::array();
  for (const serve::BatchStatistic& batch : statistics)
    list.push_back({{"batch_size", batch.batch_size},
                    {"compute_input", duration(batch.compute_input)},
                    {"compute_infer", duration(batch.compute_infer)},
                    {"compute_output", duration(batch.compute_output)}});
  return list;
}

Json one_model(const serve::ModelStatistics& model) {
  Json row = {{"name", model.name}, {"version", std::to_string(model.version)}};
  for (const ModelMetric& metric : model_metrics())
    if (!metric.member.empty()) row[Json::json_pointer(std::string(metric.member))] = metric.value(model);
  if (model.bound_ns) row["ridge_bound_ns"] = *model.bound_ns;
  row["response_stats"] = Json::object();
  row["batch_stats"] = batches(model.batches);
  row["memory_usage"] = Json::array();
  return row;
}

// TensorFlow Serving's names: tensorflow_serving/apis/get_model_status.proto.
const char* status_name(serve::ModelState state) {
  switch (state) {
    case serve::ModelState::kLoading: return "LOADING";
    case serve::ModelState::kReady: return "AVAILABLE";
    case serve::ModelState::kUnloading: return "UNLOADING";
    case serve::ModelState::kUnavailable: break;
  }
  return "END";
}

}  // namespace

Json server_metadata(const std::string& version, bool shared_memory, bool traces) {
  return {{"name", kServerName}, {"version", version}, {"extensions", extensions(shared_memory, traces)}};
}

Json model_metadata(const serve::ModelMetadata& model) {
  Json versions = Json::array();
  for (int64_t version : model.versions) versions.push_back(std::to_string(version));
  return {{"name", model.name},
          {"versions", std::move(versions)},
          {"platform", model.platform},
          {"inputs", tensors(model.inputs)},
          {"outputs", tensors(model.outputs)}};
}

Json model_statistics(std::span<const serve::ModelStatistics> models) {
  Json list = Json::array();
  for (const serve::ModelStatistics& model : models) list.push_back(one_model(model));
  return {{"model_stats", std::move(list)}};
}

Json model_version_status(std::span<const serve::IndexEntry> versions) {
  Json list = Json::array();
  for (const serve::IndexEntry& entry : versions)
    list.push_back(
        {{"version", std::to_string(entry.version)},
         {"state", status_name(entry.state)},
         {"status", {{"error_code", entry.reason.empty() ? "OK" : "UNAVAILABLE"}, {"error_message", entry.reason}}}});
  return {{"model_version_status", std::move(list)}};
}

Json repository_index(std::span<const serve::IndexEntry> entries) {
  Json list = Json::array();
  for (const serve::IndexEntry& entry : entries) {
    Json row = {{"name", entry.name}};
    if (entry.version > 0) row["version"] = std::to_string(entry.version);
    if (entry.version > 0 || !entry.reason.empty()) row["state"] = std::string(serve::model_state_name(entry.state));
    if (!entry.reason.empty()) row["reason"] = entry.reason;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace ridge::front::http
