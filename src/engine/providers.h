// Execution providers: those compiled into an engine's library, and whether one really runs a model here. The check may
// load drivers and crash with them: call it in a child process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace ridge::engine {

// Providers in the library that open() would use: "CUDAExecutionProvider", "CPUExecutionProvider", …
Result<std::vector<std::string>> compiled_providers(const plan::Plan& plan);

// The vendor of the GPUs that a provider runs on, "NVIDIA" or "AMD"; empty: it needs no GPU of theirs.
std::string_view gpu_vendor_of(std::string_view provider);

// Runs Plan::model once, with zeros, on that provider alone: a node that would go to the CPU instead is an error.
// kUnsupported: this provider cannot be tried (a remote service).
Status try_provider(const plan::Plan& plan, const std::string& provider);

// NVIDIA's GPUs that the engine can use, N of cuda:N: the driver's working ones, if the library has the CUDA
// provider; else none. It opens the driver.
std::vector<int> usable_gpus(const plan::Plan& plan);

}  // namespace ridge::engine
