#include "front/http/region_request.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "front/base64.h"
#include "front/region_request.h"

namespace ridge::front::http {
namespace {

Result<uint64_t> unsigned_member(const Json& object, const char* name, std::optional<uint64_t> absent = {}) {
  auto found = object.find(name);
  if (found == object.end()) {
    if (absent) return *absent;
    return invalid(std::string("Shared memory register request has no '") + name + "' field");
  }
  if (!found->is_number_unsigned())
    return invalid(std::string("'") + name + "' should be an unsigned integer, found " +
                   dump_json(*found).substr(0, 60));
  return found->get<uint64_t>();
}

Result<std::string> string_member(const Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end()) return invalid(std::string("Shared memory register request has no '") + name + "' field");
  if (!found->is_string())
    return invalid(std::string("'") + name + "' should be a string, found " + dump_json(*found).substr(0, 60));
  return found->get<std::string>();
}

Result<std::string> read_handle(const Json& request) {
  auto found = request.find("raw_handle");
  if (found == request.end()) return invalid("Shared memory register request has no 'raw_handle' field");
  if (!found->is_object()) return invalid("'raw_handle' should be an object with 'b64'");
  RIDGE_ASSIGN(std::string text, string_member(*found, "b64"));
  std::optional<std::string> handle = base64_decoded(text);
  if (!handle || handle->size() != kHandleBytes)
    return invalid("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t, which has 64 bytes");
  return std::move(*handle);
}

}  // namespace

Result<serve::RegionRequest> read_region_request(serve::RegionKind kind, const std::string& name,
                                                 std::string_view body) {
  RIDGE_ASSIGN(Json json, parse_json(body, "the request"));
  if (!json.is_object()) return invalid("the request should be a JSON object, found " + dump_json(json).substr(0, 60));
  serve::RegionRequest region;
  region.kind = kind;
  region.name = name;
  if (kind == serve::RegionKind::kSystem) {
    RIDGE_ASSIGN(region.key, string_member(json, "key"));
    RIDGE_ASSIGN(region.offset, unsigned_member(json, "offset", 0));
  } else {
    RIDGE_ASSIGN(region.handle, read_handle(json));
    RIDGE_ASSIGN(region.device, unsigned_member(json, "device_id"));
  }
  RIDGE_ASSIGN(region.byte_size, unsigned_member(json, "byte_size"));
  return region;
}

}  // namespace ridge::front::http
