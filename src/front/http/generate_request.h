// The body of Triton's generate → native request.
// https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_generate.md
//
// A member, also one of "parameters", that has the name of an input is its tensor; others are "id" and request parameters. Types
// come from the model, shapes from it and the values; the service checks them against the model. Pure except for memory reused
// between calls; one thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "front/body.h"
#include "front/http/infer_request.h"
#include "serve/service.h"

namespace ridge::front::http {

class GenerateDecoder {
 public:
  GenerateDecoder();
  ~GenerateDecoder();
  GenerateDecoder(GenerateDecoder&&) noexcept;

  Result<DecodedRequest> decode(const Body& body, const serve::ModelMetadata& model);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::front::http
