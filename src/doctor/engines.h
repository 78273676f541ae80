// Facts about the engines: which load, and which of their execution providers really ran a small model.
// Plain values: gather_engines.h collects them, areas.h judges them.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace ridge::doctor {

struct ProviderFacts {
  std::string name;     // "CUDAExecutionProvider"; for an engine without providers the requested precision, "bf16"
  bool wanted = false;  // requested by --provider, so that not running is a failure
  bool ran = false;     // the probe model ran on it
  bool asked = true;    // it was tried; false: cannot be tried here, see `reason`
  std::string reason;   // why it did not run, or what of the model did not run on it
  double seconds = 0;   // that the trial took, loading its libraries included
};
void visit_fields(auto& visit, Is<ProviderFacts> auto& provider) {
  visit("name", provider.name);
  visit.optional("wanted", provider.wanted);
  visit.optional("ran", provider.ran);
  visit.optional("asked", provider.asked);
  visit.optional("reason", provider.reason);
  visit.optional("seconds", provider.seconds);
}

struct EngineFacts {
  std::string name;  // "onnxruntime", "openvino"
  std::string version;
  std::string library;  // path
  std::string failure;  // why it does not load; empty: it does
  std::vector<ProviderFacts> providers;
  double gemm_flops_per_s =
      0;  // one thread, best of several runs of a chain of matrix multiplications in FP32; 0: not measured
  bool optional = false;  // the program works without it, so its absence is not a failure
};
void visit_fields(auto& visit, Is<EngineFacts> auto& engine) {
  visit("name", engine.name);
  visit.optional("version", engine.version);
  visit.optional("library", engine.library);
  visit.optional("failure", engine.failure);
  visit.optional("providers", engine.providers);
  visit.optional("gemm_flops_per_s", engine.gemm_flops_per_s);
  visit.optional("optional", engine.optional);
}

}  // namespace ridge::doctor
