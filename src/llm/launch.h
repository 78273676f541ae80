// How an engine is started as planned: its command line, TensorRT-LLM's file of options, and a Kubernetes manifest.
// Flags stand in data/engine_flags.csv, which benchmarks/engine_flags.py renews from the engines' packages. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/serving.h"

namespace ridge::llm {

struct EngineProgram {
  std::string_view name;     // as in data/engine_flags.csv
  std::string_view version;  // of the flags and of the image
  std::string_view image;
  std::string_view health = "/health";  // path that answers 200 when the engine can serve
  int health_timeout_s = 5;             // SGLang generates a token for each question, within 20 s
  std::string_view file_flag = {};      // of the file of options; empty: the engine needs none
  std::string_view router = {};         // that joins its prefill and decode workers
};
const EngineProgram& program_of(EngineKind engine);

inline constexpr const char* kOptionsFile = "options.yaml";

struct Launch {
  std::vector<std::string> program;     // with the model: "vllm", "serve", "meta-llama/Llama-3.1-8B"
  std::vector<std::string> arguments;   // flags and their values
  std::string options = {};             // YAML of the file that `file_flag` names; empty: none
  std::vector<std::string> notes = {};  // what the model's files must be
};
enum class Role { kAll, kPrefill, kDecode };
// `model`: what the engine loads, a path or an id of a hub. A serving with a prefill pool has a launch for each of its
// two roles, others one for all.
Launch launch_of(const Deployment& deployment, const Serving& serving, const std::string& model, const Load& load,
                 Role role = Role::kAll);

// Deployment and Service, and a ConfigMap with the file of options: a pod per replica. `remark` is a comment at its
// top. Errors: a replica has more GPUs than a node; prefill workers, which need a router that is not the engine's.
Result<std::string> manifest_of(const Launch& launch, const Serving& serving, const std::string& model,
                                const std::string& remark);
// The label nvidia.com/gpu.product of NVIDIA's gpu-feature-discovery: the driver's name of the product with dashes for
// blanks. Empty: not known.
std::string product_label(std::string_view gpu);

}  // namespace ridge::llm
