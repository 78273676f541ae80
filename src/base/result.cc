#include "base/result.h"

namespace ridge {

Error wrap(Error error, const std::string& doing) {
  error.message = doing + ": " + error.message;
  return error;
}

}  // namespace ridge
