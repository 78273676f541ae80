// The engines, one row each: their properties for the rest of the program before a model is opened. Adding one is a
// folder of engine/ and a row of engines.cc; no other folder names an engine (cmake/check_layers.py).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "engine/engine.h"
#include "plan/device.h"
#include "plan/plan.h"

namespace ridge::model {
class UnboundModel;
}

namespace ridge::engine {

// How an engine gets a variant of the model.
enum class Source {
  kGiven,  // from the original model, by Plan::precision
  kFile,   // from a file that a pass writes
};

struct Ability {
  std::string_view variant;  // a row of precision/variants.h
  Source source = Source::kGiven;
  plan::DeviceKind device = plan::DeviceKind::kCpu;
  std::string_view option = {};  // option of the engine, set to 1, that selects it
};

// A parameter of a configuration, as Triton's backend of the engine names it, and its value.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// optimization.execution_accelerators.gpu_execution_accelerator of a configuration.
struct Accelerator {
  std::string name;
  Parameters parameters;
};
// Shapes that a configuration gives the inputs, without the batch, and the rows of a run; 0: none.
struct ServedShapes {
  std::vector<TensorSpec> inputs;
  int64_t most_rows = 0, usual_rows = 0;
};

// An option that may make the engine faster on such devices if it is set to 1.
struct Switch {
  plan::DeviceKind device;
  std::string_view option;
};

struct Engine {
  std::string_view name = {};   // Plan::engine, --engine, and the backend of a served configuration
  std::string_view label = {};  // for messages
  std::span<const plan::DeviceKind> devices = {};
  std::span<const Ability> abilities = {};  // in the order in which they are tried

  Result<std::unique_ptr<Session>> (*open)(const plan::Plan&, Clock&) = nullptr;
  Result<Info> (*find)(const plan::Plan&) = nullptr;
  Result<std::unique_ptr<Decoder>> (*open_decoder)(const DecoderPlan&, Clock&) = nullptr;  // null: the engine has none

  // Reads a file of the engine's own format (engine/model_file.h); null: it has none.
  Result<model::UnboundModel> (*read_model)(const std::string& path, const std::string& library) = nullptr;

  bool for_tests = false;         // chosen only by name
  bool has_providers = false;     // engine/providers.h works with it
  bool takes_precision = false;   // Plan::precision decides the arithmetic; false: the file's types do
  bool writes_graph = false;      // Plan::optimised_model
  bool gives_any_tensor = false;  // as an output of the model, whatever the graph declares
  bool pools_threads = false;     // Plan::spin and inter_op_threads change how it runs
  bool own_threads = false;       // a session's threads serve it alone, and are started by the thread that opens it
  std::span<const Switch> switches = {};
  std::string_view block_base_option =
      {};                               // into how many blocks per thread a loop is cut; empty: it has no such option
  std::string_view script_suffix = {};  // of files that it runs and that hold no graph; empty: none

  // In Triton's configurations.
  std::string_view backend = {};                 // backend for which a tuned model is written
  std::string_view platform = {};                // empty: none
  std::string_view default_file = "model.onnx";  // that the backend looks for where the configuration names none
  Parameters (*parameters)(const plan::Plan&) = nullptr;  // that make the backend open the plan
  // Reads a parameter of this backend, false: it is not one. Null: there are none.
  Result<bool> (*read_parameter)(const std::string& key, const std::string& value, plan::Plan&) = nullptr;
  // The same for NVIDIA's GPU: its device and the options that are not among the parameters. Null: there are none.
  std::vector<Accelerator> (*accelerators)(const plan::Plan&) = nullptr;
  Status (*read_accelerators)(std::span<const Accelerator>, const ServedShapes&, plan::Plan&) = nullptr;
  // Says if a client's load request may set that option: it names no file, folder or library. Null: none may be.
  bool (*is_harmless)(std::string_view option) = nullptr;
  // Names the file from which the vendor's own server serves the plan under that name. Null: the vendor has no server.
  std::string (*model_server_text)(const std::string& name, const plan::Plan&) = nullptr;
};

// The default of Plan::engine first.
std::span<const Engine> known();
// By Engine::name. For an unknown name: a row without a name, with all columns empty.
const Engine& named(std::string_view name);
// kInvalid: no engine has that name; the message lists those that are chosen without being named.
Status check_name(std::string_view name);
// kInvalid: the engine runs on no such device; the message names those that it has, and the engine that has this one.
Status check_device(const Engine& engine, const plan::Device& device);
// Before work that needs it: that the library, if one is named, can be opened by the engine.
Status check_library(std::string_view engine, const std::string& library);
// The first that is chosen without being named and runs on such devices.
const Engine& usual_for(plan::DeviceKind device);
// The first that is chosen without being named and satisfies the condition.
const Engine& first_that(bool Engine::*holds);

bool runs_on(const Engine& engine, plan::DeviceKind device);
// Null: it cannot compute the variant there.
const Ability* ability_of(const Engine& engine, std::string_view variant, plan::DeviceKind device);

}  // namespace ridge::engine
