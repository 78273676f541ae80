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

Result<TextModelPtr> Service::text_model(const std::string& model) const {
  return Error{Code::kNotFound, "there is no language model '" + model + "'"};
}

Result<EncoderPtr> Service::encoder(const std::string& model) const {
  return Error{Code::kNotFound, "there is no encoder '" + model + "'"};
}

}  // namespace ridge::serve
