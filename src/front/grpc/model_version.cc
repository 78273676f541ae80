#include "front/grpc/model_version.h"

#include <charconv>

namespace ridge::front::grpc {

Result<int64_t> read_model_version(const std::string& text) {
  if (text.empty()) return int64_t{0};
  int64_t version = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (failure == std::errc() && end == text.data() + text.size() && version > 0) return version;
  return invalid("the model's version should be a number above 0, found '" + text.substr(0, 60) + "'");
}

}  // namespace ridge::front::grpc
