#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpc_service.pb.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/percent.h"
#include "client/grpc_wire.h"
#include "client/protocol.h"

namespace ridge::client {
namespace {

namespace pb = google::protobuf;

constexpr std::string_view kService = "/inference.GRPCInferenceService/";
constexpr size_t kMostMessage = (size_t{1} << 31) - 1;  // [bytes] protobuf's

std::string method(std::string_view name) { return std::string(kService).append(name); }

Request call(std::string_view name, const pb::Message& message) {
  return {method(name), grpc_message(message.SerializeAsString())};
}

// NAME and, where the URL has one, version.
template <typename Message>
Message of_model(const ServerUrl& url) {
  Message message;
  message.set_name(percent_decoded(url.model).value_or(url.model));
  message.set_version(url.version);
  return message;
}

template <typename Answer>
Result<Json> json_of(const std::string& bytes) {
  Answer answer;
  if (!answer.ParseFromString(bytes))
    return Error{Code::kFailed, "the answer is not a message " + Answer::descriptor()->full_name()};
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  if (!pb::util::MessageToJsonString(answer, &text, options).ok())
    return Error{Code::kFailed, "the answer holds text that is not UTF-8"};
  return parse_json(text, "the answer");
}

struct Call {
  MetadataRequest question;
  const char* method;
  Request (*request)(std::string_view method, const ServerUrl& url);
  Result<Json> (*read)(const std::string& message);
};
constexpr std::array<Call, 4> kCalls = {{
    {MetadataRequest::kServer, "ServerMetadata",
     [](std::string_view name, const ServerUrl&) { return call(name, inference::ServerMetadataRequest()); },
     json_of<inference::ServerMetadataResponse>},
    {MetadataRequest::kModel, "ModelMetadata",
     [](std::string_view name, const ServerUrl& url) {
       return call(name, of_model<inference::ModelMetadataRequest>(url));
     },
     json_of<inference::ModelMetadataResponse>},
    {MetadataRequest::kStatistics, "ModelStatistics",
     [](std::string_view name, const ServerUrl& url) {
       return call(name, of_model<inference::ModelStatisticsRequest>(url));
     },
     json_of<inference::ModelStatisticsResponse>},
    {MetadataRequest::kIndex, "RepositoryIndex",
     [](std::string_view name, const ServerUrl&) { return call(name, inference::RepositoryIndexRequest()); },
     [](const std::string& message) -> Result<Json> {
       RIDGE_ASSIGN(Json json, json_of<inference::RepositoryIndexResponse>(message));
       return std::move(json["models"]);
     }},
}};

const Call& call_of(MetadataRequest question) { return kCalls.at(static_cast<size_t>(question)); }

class GrpcProtocol final : public Protocol {
 public:
  std::unique_ptr<Wire> wire(const ServerUrl& url, const BodyLimits& keep) const override {
    return grpc_wire(host_and_port(url), keep);
  }
  std::string name() const override { return "gRPC"; }

  Request request(const ServerUrl& url, MetadataRequest question) const override {
    const Call& call = call_of(question);
    return call.request(call.method, url);
  }
  Result<Json> read(MetadataRequest question, const Response& answer) const override {
    return call_of(question).read(answer.body);
  }
  std::string text_of(const ServerUrl& url, MetadataRequest question) const override {
    return fmt::format("{} at {}", call_of(question).method, server_text(url));
  }

  Result<InferRequest> infer(const ServerUrl& url, std::span<const TensorSpec> inputs,
                             std::span<const Tensor* const> tensors, Payload payload) const override {
    if (payload == Payload::kJson) return invalid("--payload json: gRPC has no JSON; its tensors are sent as bytes");
    inference::ModelInferRequest message;
    message.set_model_name(percent_decoded(url.model).value_or(url.model));
    message.set_model_version(url.version);
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto& input = *message.add_inputs();
      input.set_name(inputs[i].name);
      input.set_datatype(std::string(data_type_name(tensors[i]->type)));
      for (const int64_t size : tensors[i]->shape) input.add_shape(size);
      message.add_raw_input_contents(tensors[i]->data.data(), tensors[i]->data.size());
    }
    const size_t size = message.ByteSizeLong();
    if (size > kMostMessage)
      return invalid(fmt::format("a request of {} bytes is more than gRPC can send at once, {}; give a smaller --batch",
                                 size, kMostMessage));
    return InferRequest{call("ModelInfer", message), size};
  }

  int failure_of(const Response& answer, std::string& why) const override {
    if (answer.body.size() < answer.body_size) return 0;
    inference::ModelInferResponse message;
    if (message.ParseFromString(answer.body) && message.outputs_size() + message.raw_output_contents_size() > 0)
      return 0;
    why = "the answer is not a message inference.ModelInferResponse with outputs";
    return kBadAnswer;
  }
  Result<std::string> version_of(const Response& answer) const override {
    inference::ModelInferResponse message;
    if (!message.ParseFromString(answer.body))
      return Error{Code::kFailed, "the answer is not a message inference.ModelInferResponse"};
    return message.model_version();
  }
  std::string infer_text(const ServerUrl& url) const override { return "ModelInfer at " + client::text_of(url); }
};

}  // namespace

const Protocol& grpc_protocol() {
  static const GrpcProtocol kProtocol;
  return kProtocol;
}

}  // namespace ridge::client
