#include "front/describe.h"

namespace ridge::front {

std::vector<std::string> extensions(bool shared_memory, bool traces) {
  std::vector<std::string> names = {"binary_tensor_data",
                                    "classification",
                                    "model_configuration",
                                    "model_repository",
                                    "model_repository(unload_dependents)",
                                    "statistics",
                                    "logging",
                                    "sequence",
                                    "sequence(string_id)",
                                    "schedule_policy",
                                    "parameters"};
  if (traces) names.emplace_back("trace");
  if (shared_memory) names.insert(names.end(), {"system_shared_memory", "cuda_shared_memory"});
  return names;
}

}  // namespace ridge::front
