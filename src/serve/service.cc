#include "serve/service.h"

#include <cassert>

namespace ridge::serve {

std::string_view model_state_name(ModelState state) {
  switch (state) {
    case ModelState::kUnavailable: return "UNAVAILABLE";
    case ModelState::kLoading: return "LOADING";
    case ModelState::kReady: return "READY";
    case ModelState::kUnloading: return "UNLOADING";
  }
  assert(false);
  return "UNAVAILABLE";
}

}  // namespace ridge::serve
