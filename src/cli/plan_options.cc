#include "cli/plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "checkpoint/weights.h"
#include "cli/number_checks.h"
#include "engine/own_format.h"
#include "plan/device.h"

namespace ridge::cli {
namespace {

bool wants_memory(const PlanOptions& options) { return options.memory || !options.memory_limit.empty(); }

Status check_model(const PlanOptions& options) {
  const app::PlanRequest& request = options.request;
  const bool flags = !request.llm.flags.empty();
  if (request.model.empty() == flags) return ok_status();
  return Error{Code::kInvalid,
               flags ? "MODEL and --llm both describe a model; give one of them"
                     : "MODEL is missing: an ONNX file, or a language model's folder, config.json or .gguf file"};
}

// Forms about layers do not apply to a language model's dimensions.
Status check_form(const PlanOptions& options) {
  const app::ServingRequest& serving = options.request.llm.serving;
  // A load is also one of this machine.
  const bool here = options.device.empty() && is_llm(options);
  const bool load = serving.concurrency > 0 || serving.output || !serving.trace.empty();
  const bool detail = (load && !here) || serving.split.any() || serving.prefill.any() || serving.ttft_ms ||
                      serving.tpot_ms || !serving.engines.empty() || !serving.deployments.empty() ||
                      serving.prefill_workers || serving.decode_workers || !serving.cache_link.empty() ||
                      !serving.model_id.empty() || !options.manifest.empty();
  if (detail && serving.gpus.empty())
    return Error{Code::kInvalid,
                 "these options describe how a language model is served; give --gpu with one or several GPUs too"};
  if (!options.manifest.empty() && serving.model_id.empty())
    return Error{
        Code::kInvalid,
        "--manifest needs --model-id: the id at the hub or the path in the pod from which the engine loads the "
        "model"};
  const bool served = !serving.gpus.empty();
  const bool layers = (!served && (!options.page.file.empty() || (options.rows_per_s && !here))) ||
                      wants_memory(options) || options.request.measure || !options.optimiser.empty();
  if (!is_llm(options) || !layers) return ok_status();
  return Error{
      Code::kInvalid,
      "--html, --rps, --measure, --memory and --training need a model whose layers are known; for a language model's "
      "dimensions use --json, --csv and --batch, or ridge size: --cost, --rps on this machine, --gpu for its serving"};
}

// The file is run as it is, by the CPU.
Status check_measure(const PlanOptions& options) {
  if (!options.request.measure ||
      (options.device.empty() && (options.precision.empty() || options.precision == "fp32")))
    return ok_status();
  return Error{
      Code::kInvalid,
      "--measure runs the model as it is on this machine's CPU; leave --device and --precision out (ridge bench "
      "measures others)"};
}

Result<std::optional<app::MemoryRequest>> memory_of(const PlanOptions& options) {
  std::optional<app::MemoryRequest> memory;
  if (!wants_memory(options)) return memory;
  memory.emplace();
  if (!options.memory_limit.empty()) {
    Result<int64_t> bytes = parse_bytes(options.memory_limit);
    if (!bytes) return wrap(bytes.error(), "--memory-limit");
    memory->limit_bytes = static_cast<double>(*bytes);
  }
  return memory;
}

// The catalogue's entry of a GPU in this machine (perhaps only its name), with the driver's memory size.
catalogue::CatalogueDevice described(const limits::NvidiaGpu& gpu) {
  catalogue::CatalogueDevice device = gpu.datasheet.value_or(catalogue::CatalogueDevice{});
  if (device.name.empty()) {
    device.vendor = "NVIDIA";
    device.name = gpu.facts.name;
  }
  if (gpu.facts.memory_bytes > 0) device.memory_bytes = static_cast<double>(gpu.facts.memory_bytes);
  return device;
}

// "cuda:1": the GPU of this machine; anything else: a name of the catalogue.
Status name_device(const std::string& name, app::PlanRequest& request) {
  const Result<plan::Device> here = plan::device_from_name(name);
  if (!here || !plan::is_nvidia(*here)) {
    RIDGE_ASSIGN(std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
    RIDGE_ASSIGN(request.device, catalogue::find_device(devices, name));
    return {};
  }
  Result<limits::NvidiaGpu> gpu = limits::nvidia_gpu(here->index);
  if (!gpu) return Error{Code::kUnavailable, "device " + plan::device_name(*here) + ": " + gpu.error().message};
  request.gpu = std::move(*gpu);
  request.device = described(*request.gpu);
  return {};
}

void declare_language_model(CLI::App& app, app::LlmRequest& llm) {
  app.add_option("--context", llm.context)->check(positive());
  app.add_option("--prompt", llm.prompt)->check(positive());
  app.add_option("--weights", llm.weights);
  app.add_option("--kv", llm.kv);
  app.add_option("--reserve", llm.reserve_percent)->check(in_range(0, 99));
  app.add_option("--concurrency", llm.serving.concurrency)->check(in_range(1, 65536));
  app.add_option("--output-tokens", llm.serving.output)->check(in_range(1, 1000000));
  app.add_option("--spread", llm.serving.spread_percent)->check(in_range(0, 90));
}

}  // namespace

void declare_plan(CLI::App& app, PlanOptions& options) {
  app.add_option("MODEL", options.request.model);
  app.add_option("--batch,-b", options.batch);
  app.add_option("--shape", options.shapes);
  app.add_option("--threads,-t", options.request.threads)->check(in_range(1, kMostThreads));
  app.add_option("--precision", options.precision);
  app.add_option("--device,-d", options.device);
  app.add_option("--layers", options.layers)->check(not_negative());
  app.add_flag("--measure", options.request.measure);
  app.add_flag("--fresh", options.request.fresh);
  auto* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
  app.add_option("-o,--output", options.output);
  declare(app, options.page);
  app.add_flag("--memory", options.memory);
  app.add_option("--memory-limit", options.memory_limit);
  declare_language_model(app, options.request.llm);
}

bool is_llm(const PlanOptions& options) {
  const app::LlmRequest& llm = options.request.llm;
  return !llm.serving.gpus.empty() || !llm.flags.empty() || options.request.model.ends_with(".json") ||
         checkpoint::is_gguf(options.request.model) || llm.context || llm.prompt || !llm.weights.empty() ||
         !llm.kv.empty() || llm.reserve_percent;
}

Result<app::PlanRequest> request_of(const PlanOptions& options) {
  app::PlanRequest request = options.request;
  RIDGE_TRY(check_model(options));
  app::ServingRequest& serving = request.llm.serving;
  serving.prompt = request.llm.prompt;
  serving.manifest = !options.manifest.empty();
  // --weights takes several formats where a serving is searched for.
  for (size_t begin = 0; !serving.gpus.empty() && begin < request.llm.weights.size();) {
    const size_t end = std::min(request.llm.weights.find(',', begin), request.llm.weights.size());
    serving.weights.push_back(request.llm.weights.substr(begin, end - begin));
    begin = end + 1;
  }
  RIDGE_TRY(check_form(options));
  RIDGE_TRY(check_measure(options));
  RIDGE_ASSIGN(request.memory, memory_of(options));
  RIDGE_ASSIGN(request.batch, predict::parse_batch_range(options.batch.empty() ? "1" : options.batch));
  request.binding.batch = request.batch.first;
  request.binding.insist_on_batch = !options.batch.empty();
  request.binding.data_sizes_at_most = true;
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  const std::string usual = is_llm(options) ? "fp16" : "fp32";
  RIDGE_ASSIGN(request.precision, precision_from_name(options.precision.empty() ? usual : options.precision));
  request.llm.precision_given = !options.precision.empty();
  RIDGE_TRY(add_questions(options, request));
  if (!options.device.empty()) RIDGE_TRY(name_device(options.device, request));
  RIDGE_ASSIGN(request.engine, engine::engine_for(request.model, ""));
  return request;
}

}  // namespace ridge::cli
