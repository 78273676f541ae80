#include "base/result.h"

namespace ridge {

const char* code_name(Code code) {
  switch (code) {
    case Code::kInvalid: return "invalid";
    case Code::kNotFound: return "not_found";
    case Code::kUnsupported: return "unsupported";
    case Code::kUnavailable: return "unavailable";
    case Code::kExhausted: return "exhausted";
    case Code::kTimeout: return "timeout";
    case Code::kCancelled: return "cancelled";
    case Code::kFailed: return "failed";
  }
  assert(false);
  return "failed";
}

Error wrap(Error error, const std::string& doing) {
  error.message = doing + ": " + error.message;
  return error;
}

}  // namespace ridge
