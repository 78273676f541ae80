// Where the instances of a model run: `instance_group` of config.pbtxt, read as Triton reads it. Pure.
#pragma once

#include <span>
#include <vector>

#include "plan/device.h"
#include "serve/config_text.h"
#include "serve/host_policy.h"
#include "serve/model_settings.h"

namespace ridge::serve {

// ok if the groups say something that can be meant. kInvalid: a negative count, GPUs of a group for the CPU, …
Status check_instance_groups(const inference::ModelConfig& config);

// The configuration with every group decided: KIND_CPU, or KIND_GPU with the GPUs that it is on; `gpus` are those that
// the model's engine can use.
//   KIND_GPU without `gpus`: on each of them; if there is none, on GPU 0, which then fails with the engine's reason
//   KIND_AUTO: on its `gpus` if all are among them, without `gpus` on each of them if there is any, else on the CPU
//   no group at all: one of KIND_AUTO
ConfigPtr place_instances(const inference::ModelConfig& config, std::span<const int> gpus);

// The device of each instance, of a configuration with decided groups: `count` of them per GPU, group after group.
std::vector<plan::Device> devices_of(const inference::ModelConfig& placed);

// The host policy of each instance, in the same order, of `policies`: the one that its group names, else "cpu", "model"
// or "gpu_N" as in Triton; without a name where there is none.
std::vector<HostPolicy> host_policies_of(const inference::ModelConfig& placed, std::span<const HostPolicy> policies);

}  // namespace ridge::serve
