#include "front/control.h"

#include <utility>

namespace ridge::front {

Error too_many_calls() { return {Code::kUnavailable, "too many calls of this kind are waiting; try again later"}; }

Error load_failed(const std::string& model, Error why) {
  constexpr size_t kLongestName = 300;  // [bytes]
  why.message = "failed to load '" + model.substr(0, kLongestName) + "', " + why.message;
  return why;
}

}  // namespace ridge::front
