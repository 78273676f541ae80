#include "front/grpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <array>
#include <set>

#include "front/grpc/pieces_stream.h"
#include "grpc_service.pb.h"
#include "health.pb.h"
#include "reflection_v1.pb.h"
#include "reflection_v1alpha.pb.h"

namespace ridge::front::grpc {
namespace {

namespace v1 = ::grpc::reflection::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

constexpr int kNotFound = 5;  // of gRPC's status codes
constexpr int kUnimplemented = 12;

// The files that have services.
std::array<const FileDescriptor*, 4> service_files() {
  return {inference::ServerLiveRequest::descriptor()->file(),
          ::grpc::health::v1::HealthCheckRequest::descriptor()->file(),
          v1::ServerReflectionRequest::descriptor()->file(),
          ::grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file()};
}

void add_error(v1::ServerReflectionResponse& response, int code, const std::string& message) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(message);
}

// The file and, before a client could miss them, those that it imports.
void add_files(const FileDescriptor& file, std::set<const FileDescriptor*>& sent, v1::FileDescriptorResponse& files) {
  if (!sent.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  files.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) add_files(*file.dependency(i), sent, files);
}

void answer_with(const FileDescriptor* file, const std::string& wanted, v1::ServerReflectionResponse& response) {
  std::set<const FileDescriptor*> sent;
  if (file == nullptr) return add_error(response, kNotFound, "not found: " + wanted);
  add_files(*file, sent, *response.mutable_file_descriptor_response());
}

void list_services(v1::ListServiceResponse& list) {
  for (const FileDescriptor* file : service_files())
    for (int i = 0; i < file->service_count(); ++i) list.add_service()->set_name(file->service(i)->full_name());
}

void answer(const v1::ServerReflectionRequest& request, v1::ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  using Question = v1::ServerReflectionRequest;
  switch (request.message_request_case()) {
    case Question::kListServices: return list_services(*response.mutable_list_services_response());
    case Question::kFileByFilename:
      return answer_with(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(), response);
    case Question::kFileContainingSymbol:
      return answer_with(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                         request.file_containing_symbol(), response);
    case Question::kFileContainingExtension:
    case Question::kAllExtensionNumbersOfType:
      return add_error(response, kNotFound, "the schemas of this server have no extensions");
    default: return add_error(response, kUnimplemented, "unknown question");
  }
}

}  // namespace

Result<std::string> answer_reflection(const MessageBytes& question) {
  v1::ServerReflectionRequest request;
  PiecesStream stream(question.pieces);
  if (!request.ParseFromZeroCopyStream(&stream)) return invalid("the message is not a valid ServerReflectionRequest");
  service_files();
  v1::ServerReflectionResponse response;
  response.set_valid_host(request.host());
  answer(request, response);
  *response.mutable_original_request() = std::move(request);
  return response.SerializeAsString();
}

}  // namespace ridge::front::grpc
