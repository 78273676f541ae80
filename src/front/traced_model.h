// Checks that settings of traces can be those of a model. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::front {

// An empty name is the server's. kNotFound: no model of that name is known; one that is not ready is.
inline Status check_traced_model(const serve::Service& service, const std::string& model) {
  if (model.empty()) return {};
  Result<serve::ModelMetadata> known = service.metadata(model, 0);
  return known || known.error().code == Code::kUnavailable ? Status() : std::move(known).error();
}

}  // namespace ridge::front
