#include "serve/servable.h"

#include <fmt/format.h>

namespace ridge::serve {

Result<TensorModel*> tensor_model(const Servable& version) {
  if (version.offers.tensors != nullptr) return version.offers.tensors;
  return invalid(
      fmt::format("model '{}' is a language model: it takes no tensors; send a prompt to POST "
                  "/v1/completions or /v1/chat/completions",
                  version.settings().name));
}

}  // namespace ridge::serve
