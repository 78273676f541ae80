#include "front/grpc/unary_methods.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "front/client_policy.h"
#include "front/control.h"
#include "front/describe.h"
#include "front/grpc/model_version.h"
#include "front/grpc/pieces_stream.h"
#include "front/load_request.h"
#include "front/log_settings.h"
#include "front/region_request.h"
#include "front/traced_model.h"
#include "grpc_service.pb.h"
#include "health.pb.h"
#include "serve/config_text.h"
#include "text/unicode.h"

namespace ridge::front::grpc {
namespace {

constexpr size_t kShort = 64 * 1024;  // [bytes] of an operator's call without files: a few names and numbers

using Context = UnaryContext;
using serve::RegionKind;

template <typename Response, typename Request>
Request request_of(Result<Response> (*call)(const Context&, const Request&));

// Parses, calls, serialises.
template <auto call>
Result<std::string> answer_of(const Context& context, const MessageBytes& message) {
  decltype(request_of(call)) request;
  PiecesStream stream(message.pieces);
  if (!request.ParseFromZeroCopyStream(&stream))
    return invalid("the message is not a valid " + request.GetDescriptor()->name());
  if constexpr (requires { request.repository_name(); })
    if (!request.repository_name().empty())
      return Error{Code::kUnsupported, "repository names are not supported; leave repository_name out"};
  if constexpr (requires { request.model_name(); })
    context.model = request.model_name();
  else if constexpr (requires { request.version(); })
    context.model = request.name();
  auto response = call(context, request);
  if (!response) return std::move(response).error();
  return response->SerializeAsString();
}

Result<inference::ServerLiveResponse> server_live(const Context& context, const inference::ServerLiveRequest&) {
  inference::ServerLiveResponse response;
  response.set_live(context.service.live());
  return response;
}

Result<inference::ServerReadyResponse> server_ready(const Context& context, const inference::ServerReadyRequest&) {
  inference::ServerReadyResponse response;
  response.set_ready(context.service.ready());
  return response;
}

// An unknown model is reported as not ready: clients ask before they load.
Result<inference::ModelReadyResponse> model_ready(const Context& context, const inference::ModelReadyRequest& request) {
  RIDGE_ASSIGN(int64_t version, read_model_version(request.version()));
  inference::ModelReadyResponse response;
  response.set_ready(context.service.model_ready(request.name(), version));
  return response;
}

Result<inference::ServerMetadataResponse> server_metadata(const Context& context,
                                                          const inference::ServerMetadataRequest&) {
  inference::ServerMetadataResponse response;
  response.set_name(kServerName);
  response.set_version(context.options.server_version);
  for (std::string& extension : extensions(is_allowed(context.options.shared_memory, context.from_this_machine),
                                           context.options.tracer != nullptr))
    response.add_extensions(std::move(extension));
  return response;
}

void add_tensor(const TensorSpec& spec, inference::ModelMetadataResponse::TensorMetadata& tensor) {
  tensor.set_name(text::to_utf8(spec.name));
  tensor.set_datatype(std::string(data_type_name(spec.type)));
  for (int64_t dimension : spec.shape) tensor.add_shape(dimension);
}

Result<inference::ModelMetadataResponse> model_metadata(const Context& context,
                                                        const inference::ModelMetadataRequest& request) {
  RIDGE_ASSIGN(int64_t version, read_model_version(request.version()));
  RIDGE_ASSIGN(serve::ModelMetadata model, context.service.metadata(request.name(), version));
  inference::ModelMetadataResponse response;
  response.set_name(text::to_utf8(model.name));
  for (int64_t ready : model.versions) response.add_versions(std::to_string(ready));
  response.set_platform(text::to_utf8(model.platform));
  for (const TensorSpec& input : model.inputs) add_tensor(input, *response.add_inputs());
  for (const TensorSpec& output : model.outputs) add_tensor(output, *response.add_outputs());
  return response;
}

Result<inference::ModelConfigResponse> model_config(const Context& context,
                                                    const inference::ModelConfigRequest& request) {
  RIDGE_ASSIGN(int64_t version, read_model_version(request.version()));
  RIDGE_ASSIGN(Json json, context.service.config(request.name(), version));
  RIDGE_ASSIGN(serve::ConfigPtr config, serve::parse_config_json(dump_json(json), "the configuration"));
  inference::ModelConfigResponse response;
  *response.mutable_config() = *config;
  return response;
}

void set(inference::StatisticDuration& duration, const serve::DurationStatistic& statistic) {
  duration.set_count(statistic.count);
  duration.set_ns(statistic.ns);
}

void add_statistics(const serve::ModelStatistics& model, inference::ModelStatistics& row) {
  row.set_name(text::to_utf8(model.name));
  row.set_version(std::to_string(model.version));
  row.set_last_inference(model.last_inference_ms);
  row.set_inference_count(model.inference_count);
  row.set_execution_count(model.execution_count);
  inference::InferStatistics& requests = *row.mutable_inference_stats();
  set(*requests.mutable_success(), model.success);
  set(*requests.mutable_fail(), model.fail);
  set(*requests.mutable_queue(), model.queue);
  set(*requests.mutable_compute_input(), model.compute_input);
  set(*requests.mutable_compute_infer(), model.compute_infer);
  set(*requests.mutable_compute_output(), model.compute_output);
  set(*requests.mutable_cache_hit(),
      model.cache_hit);  // there also where nothing is cached: clients read them without a look
  set(*requests.mutable_cache_miss(), model.cache_miss);
  for (const serve::BatchStatistic& batch : model.batches) {
    inference::InferBatchStatistics& of_batch = *row.add_batch_stats();
    of_batch.set_batch_size(batch.batch_size);
    set(*of_batch.mutable_compute_input(), batch.compute_input);
    set(*of_batch.mutable_compute_infer(), batch.compute_infer);
    set(*of_batch.mutable_compute_output(), batch.compute_output);
  }
}

Result<inference::ModelStatisticsResponse> model_statistics(const Context& context,
                                                            const inference::ModelStatisticsRequest& request) {
  RIDGE_ASSIGN(int64_t version, read_model_version(request.version()));
  RIDGE_ASSIGN(std::vector<serve::ModelStatistics> models, context.service.statistics(request.name(), version));
  inference::ModelStatisticsResponse response;
  for (const serve::ModelStatistics& model : models) add_statistics(model, *response.add_model_stats());
  return response;
}

Result<::grpc::health::v1::HealthCheckResponse> health(const Context& context,
                                                       const ::grpc::health::v1::HealthCheckRequest&) {
  ::grpc::health::v1::HealthCheckResponse response;
  response.set_status(context.service.ready() ? ::grpc::health::v1::HealthCheckResponse::SERVING
                                              : ::grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  return response;
}

Result<inference::RepositoryIndexResponse> repository_index(const Context& context,
                                                            const inference::RepositoryIndexRequest& request) {
  inference::RepositoryIndexResponse response;
  for (const serve::IndexEntry& entry : context.service.index(request.ready())) {
    inference::RepositoryIndexResponse::ModelIndex& row = *response.add_models();
    row.set_name(text::to_utf8(entry.name));
    if (entry.version > 0) row.set_version(std::to_string(entry.version));
    if (entry.version > 0 || !entry.reason.empty()) row.set_state(std::string(serve::model_state_name(entry.state)));
    row.set_reason(text::to_utf8(entry.reason));
  }
  return response;
}

using LoadParameters = google::protobuf::Map<std::string, inference::ModelRepositoryParameter>;

Result<serve::LoadRequest> load_request(const LoadParameters& parameters) {
  serve::LoadRequest request;
  for (const auto& [key, value] : parameters) {
    if (key == "config") {
      if (!value.has_string_param())
        return invalid("'config' should be a string that holds the model configuration as JSON, in string_param");
      request.config_json = value.string_param();
    } else if (names_file(key)) {
      if (!value.has_bytes_param()) return invalid("'" + key + "' should be the file's content, in bytes_param");
      RIDGE_TRY(add_file(request, key, value.bytes_param()));
    } else {
      return unknown_load_parameter(key);
    }
  }
  RIDGE_TRY(check_load(request));
  return request;
}

Result<inference::RepositoryModelLoadResponse> load(const Context& context,
                                                    const inference::RepositoryModelLoadRequest& request) {
  Result<serve::LoadRequest> wanted = load_request(request.parameters());
  Status loaded = wanted ? context.service.load(request.model_name(), *wanted) : std::move(wanted).error();
  if (!loaded) return load_failed(request.model_name(), std::move(loaded).error());
  return inference::RepositoryModelLoadResponse();
}

Result<inference::RepositoryModelUnloadResponse> unload(const Context& context,
                                                        const inference::RepositoryModelUnloadRequest& request) {
  const auto dependents = request.parameters().find("unload_dependents");
  const bool with_dependents = dependents != request.parameters().end() && dependents->second.bool_param();
  RIDGE_TRY(context.service.unload(request.model_name(), with_dependents));
  return inference::RepositoryModelUnloadResponse();
}

template <RegionKind kind, typename Response, typename Request>
Result<Response> regions(const Context& context, const Request& request) {
  RIDGE_ASSIGN(std::vector<serve::RegionRequest> regions, context.service.regions(kind, request.name()));
  Response response;
  for (const serve::RegionRequest& region : regions) {
    auto& row = (*response.mutable_regions())[text::to_utf8(region.name)];
    row.set_name(text::to_utf8(region.name));
    row.set_byte_size(region.byte_size);
    if constexpr (kind == RegionKind::kSystem) {
      row.set_key(text::to_utf8(region.key));
      row.set_offset(region.offset);
    } else {
      row.set_device_id(region.device);
    }
  }
  return response;
}
constexpr auto* system_regions = regions<RegionKind::kSystem, inference::SystemSharedMemoryStatusResponse,
                                         inference::SystemSharedMemoryStatusRequest>;
constexpr auto* cuda_regions =
    regions<RegionKind::kCuda, inference::CudaSharedMemoryStatusResponse, inference::CudaSharedMemoryStatusRequest>;

Error nameless_region() { return invalid("the region's name is missing"); }

Result<inference::SystemSharedMemoryRegisterResponse> register_system_region(
    const Context& context, const inference::SystemSharedMemoryRegisterRequest& request) {
  if (request.name().empty()) return nameless_region();
  RIDGE_TRY(context.service.register_region({.kind = RegionKind::kSystem,
                                             .name = request.name(),
                                             .byte_size = request.byte_size(),
                                             .key = request.key(),
                                             .offset = request.offset()}));
  return inference::SystemSharedMemoryRegisterResponse();
}

Result<inference::CudaSharedMemoryRegisterResponse> register_cuda_region(
    const Context& context, const inference::CudaSharedMemoryRegisterRequest& request) {
  if (request.name().empty()) return nameless_region();
  if (request.raw_handle().size() != kHandleBytes)
    return invalid("'raw_handle' must be a cudaIpcMemHandle_t, which has 64 bytes; found " +
                   std::to_string(request.raw_handle().size()));
  if (request.device_id() < 0) return invalid("'device_id' should be 0 or more");
  RIDGE_TRY(context.service.register_region({.kind = RegionKind::kCuda,
                                             .name = request.name(),
                                             .byte_size = request.byte_size(),
                                             .handle = request.raw_handle(),
                                             .device = static_cast<uint64_t>(request.device_id())}));
  return inference::CudaSharedMemoryRegisterResponse();
}

Result<inference::SystemSharedMemoryUnregisterResponse> unregister_system_regions(
    const Context& context, const inference::SystemSharedMemoryUnregisterRequest& request) {
  context.service.unregister_regions(RegionKind::kSystem, request.name());
  return inference::SystemSharedMemoryUnregisterResponse();
}

Result<inference::CudaSharedMemoryUnregisterResponse> unregister_cuda_regions(
    const Context& context, const inference::CudaSharedMemoryUnregisterRequest& request) {
  context.service.unregister_regions(RegionKind::kCuda, request.name());
  return inference::CudaSharedMemoryUnregisterResponse();
}

Result<inference::LogSettingsResponse> log_setting(const Context& context,
                                                   const inference::LogSettingsRequest& request) {
  LogSettings changes;
  for (const auto& [name, value] : request.settings()) {
    if (value.has_bool_param()) changes.emplace_back(name, value.bool_param());
    if (value.has_uint32_param()) changes.emplace_back(name, uint64_t{value.uint32_param()});
    if (value.has_string_param()) changes.emplace_back(name, value.string_param());
  }
  if (!changes.empty()) {
    RIDGE_TRY(check_log_allowed(context.options.model_control, context.from_this_machine));
    RIDGE_TRY(change_log_settings(changes));
  }
  inference::LogSettingsResponse response;
  for (const auto& [name, value] : log_settings()) {
    inference::LogSettingsResponse::SettingValue& row = (*response.mutable_settings())[name];
    if (const bool* on = std::get_if<bool>(&value)) row.set_bool_param(*on);
    if (const uint64_t* number = std::get_if<uint64_t>(&value)) row.set_uint32_param(static_cast<uint32_t>(*number));
    if (const std::string* text = std::get_if<std::string>(&value)) row.set_string_param(*text);
  }
  return response;
}

Result<inference::TraceSettingResponse> trace_setting(const Context& context,
                                                      const inference::TraceSettingRequest& request) {
  RIDGE_TRY(check_traced_model(context.service, request.model_name()));
  TraceChanges changes;
  for (const auto& [name, value] : request.settings())
    changes[name] = std::vector<std::string>(value.value().begin(), value.value().end());
  if (!changes.empty()) {
    RIDGE_TRY(check_log_allowed(context.options.model_control, context.from_this_machine));
    RIDGE_TRY(change_trace_settings(context.options.tracer.get(), request.model_name(), changes));
  }
  inference::TraceSettingResponse response;
  for (const auto& [name, values] : trace_settings(context.options.tracer.get(), request.model_name()))
    for (const std::string& value : values) (*response.mutable_settings())[name].add_value(value);
  return response;
}

}  // namespace

std::span<const UnaryMethod> unary_methods() {
  using enum Rights;
  using enum RunsOn;
#define RIDGE_INFERENCE(method) "/inference.GRPCInferenceService/" method
  static constexpr UnaryMethod kUnaryMethods[] = {
      {RIDGE_INFERENCE("ServerLive"), kAll, kHealthCalls, kLoop, kShort, answer_of<server_live>},
      {RIDGE_INFERENCE("ServerReady"), kAll, kHealthCalls, kLoop, kShort, answer_of<server_ready>},
      {RIDGE_INFERENCE("ModelReady"), kAll, kHealthCalls, kLoop, kShort, answer_of<model_ready>},
      {RIDGE_INFERENCE("ServerMetadata"), kAll, kDescribingCalls, kLoop, kShort, answer_of<server_metadata>},
      {RIDGE_INFERENCE("ModelMetadata"), kAll, kDescribingCalls, kLoop, kShort, answer_of<model_metadata>},
      {RIDGE_INFERENCE("ModelConfig"), kAll, kDescribingCalls, kLoop, kShort, answer_of<model_config>},
      {RIDGE_INFERENCE("ModelStatistics"), kAll, kStatisticsCalls, kLoop, kShort, answer_of<model_statistics>},
      {"/grpc.health.v1.Health/Check", kAll, kHealthCalls, kLoop, kShort, answer_of<health>},
      {RIDGE_INFERENCE("RepositoryIndex"), kAll, kOperatorCalls, kControl, kShort, answer_of<repository_index>},
      {RIDGE_INFERENCE("RepositoryModelLoad"), kLoading, kOperatorCalls, kLoads, 0, answer_of<load>},
      {RIDGE_INFERENCE("RepositoryModelUnload"), kLoading, kOperatorCalls, kControl, kShort, answer_of<unload>},
      {RIDGE_INFERENCE("SystemSharedMemoryStatus"), kRegions, kOperatorCalls, kControl, kShort,
       answer_of<system_regions>},
      {RIDGE_INFERENCE("SystemSharedMemoryRegister"), kRegions, kOperatorCalls, kControl, kShort,
       answer_of<register_system_region>},
      {RIDGE_INFERENCE("SystemSharedMemoryUnregister"), kRegions, kOperatorCalls, kControl, kShort,
       answer_of<unregister_system_regions>},
      {RIDGE_INFERENCE("CudaSharedMemoryStatus"), kRegions, kOperatorCalls, kControl, kShort, answer_of<cuda_regions>},
      {RIDGE_INFERENCE("CudaSharedMemoryRegister"), kRegions, kOperatorCalls, kControl, kShort,
       answer_of<register_cuda_region>},
      {RIDGE_INFERENCE("CudaSharedMemoryUnregister"), kRegions, kOperatorCalls, kControl, kShort,
       answer_of<unregister_cuda_regions>},
      {RIDGE_INFERENCE("LogSettings"), kAll, kOperatorCalls, kLoop, kShort, answer_of<log_setting>},
      {RIDGE_INFERENCE("TraceSetting"), kAll, kOperatorCalls, kLoop, kShort, answer_of<trace_setting>},
  };
#undef RIDGE_INFERENCE
  return kUnaryMethods;
}

}  // namespace ridge::front::grpc
