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

bool wants_cost(const PlanOptions& options) {
  const app::CostRequest& c = options.costs;
  return options.cost || c.power_w || c.load_factor || c.idle_factor || c.pue || c.kwh_usd || c.years ||
         c.utilisation || c.staff_percent || c.rented || c.price_usd || c.hour_usd;
}

Status check_model(const PlanOptions& options) {
  const app::PlanRequest& request = options.request;
  const bool flags = !request.llm.flags.empty();
  if (request.model.empty() == flags) return ok_status();
  return Error{Code::kInvalid,
               flags
                   ? "MODEL and --llm both describe a model; give one of them"
                   : "MODEL is missing: an ONNX file, a language model's config.json or .gguf file, or its dimensions "
                     "by --llm"};
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
      "dimensions use --json, --csv, --batch and --cost, --rps on this machine, or --gpu for its serving"};
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

Result<std::optional<app::LoadRequest>> load_of(const PlanOptions& options) {
  std::optional<app::LoadRequest> load;
  const bool detail = options.p99_ms || options.most_busy_percent || options.instances_per_machine;
  if (detail && !options.rows_per_s)
    return Error{Code::kInvalid,
                 "--p99-ms, --most-busy and --instances-per-machine need a load: "
                 "give --rps too"};
  if (!options.rows_per_s) return load;
  load = app::LoadRequest{{*options.rows_per_s, options.p99_ms}, options.instances_per_machine};
  if (options.most_busy_percent) load->goal.most_utilisation = *options.most_busy_percent / 100;
  return load;
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

// Without --training-precision: the equivalent of --precision in training.
std::string training_precision_of(const PlanOptions& options, Precision precision) {
  if (!options.training_precision.empty()) return options.training_precision;
  if (precision == Precision::kFp16) return "mixed";
  return precision == Precision::kBf16 ? "bf16" : "fp32";
}

Result<std::optional<app::TrainingRequest>> training_of(const PlanOptions& options, Precision precision) {
  const sizing::TrainingSetup& setup = options.training.setup;
  const bool detail = setup.checkpoint || setup.offload || setup.qlora || setup.lora_rank > 0 || setup.zero_stage > 0 ||
                      (setup.devices > 1 && options.request.llm.serving.gpus.empty()) || setup.tensor > 1 ||
                      setup.pipeline > 1 || setup.accumulate > 1 || !options.training_precision.empty();
  if (options.optimiser.empty() && detail)
    return Error{Code::kInvalid, "these options need --training with an optimiser, e.g. --training adam"};
  if (options.optimiser.empty()) return std::optional<app::TrainingRequest>();
  app::TrainingRequest training = options.training;
  RIDGE_ASSIGN(training.setup.optimiser, sizing::optimiser_from_name(options.optimiser));
  RIDGE_ASSIGN(training.setup.precision,
               sizing::training_precision_from_name(training_precision_of(options, precision)));
  RIDGE_TRY(sizing::check(training.setup));
  RIDGE_ASSIGN(training.link, sizing::link_from_name(options.link));
  return std::optional(std::move(training));
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

void declare_load(CLI::App& app, PlanOptions& options) {
  app.add_option("--rps", options.rows_per_s)->check(positive());
  app.add_option("--p99-ms", options.p99_ms)->check(positive());
  auto* service = app.add_option("--service-ms", options.request.service.ms)->check(positive());
  app.add_option("--from", options.request.service.from)->excludes(service);
  app.add_option("--most-busy", options.most_busy_percent)->check(in_range(1, 99));
  app.add_option("--instances-per-machine", options.instances_per_machine)->check(positive());
}

void declare_cost(CLI::App& app, PlanOptions& options) {
  app::CostRequest& costs = options.costs;
  auto number = [&](const char* name, std::optional<double>& target) {
    return app.add_option(name, target)->check(positive());
  };
  app.add_flag("--cost", options.cost);
  number("--power-w", costs.power_w);
  number("--load-factor", costs.load_factor)->check(in_range(0, 1));
  app.add_option("--idle-factor", costs.idle_factor)->check(in_range(0, 1));
  number("--pue", costs.pue)->check(in_range(1, 10));
  app.add_option("--kwh-usd", costs.kwh_usd)->check(not_negative());
  number("--years", costs.years);
  number("--utilisation", costs.utilisation)->check(in_range(0, 1));
  app.add_option("--staff-percent", costs.staff_percent)->check(not_negative());
  number("--rented", costs.rented)->check(in_range(0, 1));
  number("--price-usd", costs.price_usd);
  number("--hour-usd", costs.hour_usd);
}

void declare_memory(CLI::App& app, PlanOptions& options) {
  app.add_flag("--memory", options.memory);
  app.add_option("--memory-limit", options.memory_limit);
}

void declare_training(CLI::App& app, PlanOptions& options) {
  sizing::TrainingSetup& setup = options.training.setup;
  app.add_option("--training", options.optimiser);
  app.add_option("--training-precision", options.training_precision);
  app.add_flag("--checkpoint", setup.checkpoint);
  app.add_option("--accumulate", setup.accumulate)->check(positive());
  app.add_option("--zero", setup.zero_stage)->check(in_range(0, 3));
  app.add_option_function<int64_t>("--gpus",
                                   [&options](const int64_t& gpus) {
                                     options.training.setup.devices = options.request.llm.serving.most_gpus = gpus;
                                   })
      ->check(positive());
  app.add_option("--tensor", setup.tensor)->check(positive());
  app.add_option("--pipeline", setup.pipeline)->check(positive());
  app.add_flag("--offload", setup.offload);
  app.add_option("--lora", setup.lora_rank)->check(positive());
  app.add_flag("--qlora", setup.qlora);
  app.add_option("--link", options.link);
  app.add_option("--overlap", options.training.overlap)->check(in_range(0, 1));
  app.add_option("--efficiency", options.training.efficiency)->check(in_range(0.001, 1));
}

void declare_serving(CLI::App& app, app::ServingRequest& serving) {
  app.add_option("--gpu", serving.gpus)->delimiter(',');
  app.add_option("--engine", serving.engines)->delimiter(',');
  app.add_option("--tp", serving.split.tensor)->check(in_range(1, 64));
  app.add_option("--dp", serving.split.data)->check(in_range(1, 64));
  app.add_option("--pp", serving.split.pipeline)->check(in_range(1, 4));
  app.add_option("--ep", serving.split.expert)->check(in_range(1, 64));
  app.add_option("--deployment", serving.deployments)
      ->delimiter(',')
      ->check(CLI::IsMember({"aggregated", "disaggregated"}));
  app.add_option("--prefill-workers", serving.prefill_workers)->check(in_range(1, 64));
  app.add_option("--decode-workers", serving.decode_workers)->check(in_range(1, 64));
  app.add_option("--prefill-tp", serving.prefill.tensor)->check(in_range(1, 64));
  app.add_option("--prefill-dp", serving.prefill.data)->check(in_range(1, 64));
  app.add_option("--prefill-ep", serving.prefill.expert)->check(in_range(1, 64));
  app.add_option("--kv-link", serving.cache_link);
  app.add_option("--concurrency", serving.concurrency)->check(in_range(1, 65536));
  app.add_option("--output-tokens", serving.output)->check(in_range(1, 1000000));
  app.add_option("--spread", serving.spread_percent)->check(in_range(0, 90));
  app.add_option("--trace", serving.trace);
  app.add_option("--ttft-ms", serving.ttft_ms)->check(positive());
  app.add_option("--tpot-ms", serving.tpot_ms)->check(positive());
  app.add_option("--percentile", serving.percentile)->check(in_range(50, 99));
  app.add_option("--prefix-hit", serving.prefix_hit_percent)->check(in_range(0, 99));
  app.add_option("--chunk", serving.chunk_tokens)->check(in_range(64, 1000000));
  app.add_option("--max-sequences", serving.most_sequences)->check(in_range(1, 65536));
  app.add_option("--receive-interval", serving.receive_interval)->check(in_range(1, 1000));
  app.add_option("--batch-wait", serving.batch_wait_steps)->check(in_range(1, 1000));
  app.add_option("--batch-wait-fill", serving.batch_wait_percent)->check(in_range(1, 100));
  app.add_option("--draft", serving.draft_tokens)->check(in_range(1, 16));
  app.add_option("--acceptance", serving.acceptance_percent)->check(in_range(0, 100));
  app.add_option("--model-id", serving.model_id);
}

void declare_llm(CLI::App& app, app::LlmRequest& llm) {
  declare_serving(app, llm.serving);
  app.add_option("--llm", llm.flags);
  app.add_option("--context", llm.context)->check(positive());
  app.add_option("--prompt", llm.prompt)->check(positive());
  app.add_option("--weights", llm.weights);
  app.add_option("--kv", llm.kv);
  app.add_option("--reserve", llm.reserve_percent)->check(in_range(0, 99));
}

}  // namespace

void declare(CLI::App& app, PlanOptions& options) {
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
  app.add_option("--manifest", options.manifest);
  declare(app, options.page);
  declare_llm(app, options.request.llm);
  declare_load(app, options);
  declare_cost(app, options);
  declare_memory(app, options);
  declare_training(app, options);
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
  // --llm takes a config.json too, and --weights several formats where a serving is searched for.
  for (size_t begin = 0; !serving.gpus.empty() && begin < request.llm.weights.size();) {
    const size_t end = std::min(request.llm.weights.find(',', begin), request.llm.weights.size());
    serving.weights.push_back(request.llm.weights.substr(begin, end - begin));
    begin = end + 1;
  }
  RIDGE_TRY(check_form(options));
  RIDGE_TRY(check_measure(options));
  RIDGE_ASSIGN(request.load, load_of(options));
  RIDGE_ASSIGN(request.memory, memory_of(options));
  if (wants_cost(options)) request.cost = options.costs;
  RIDGE_ASSIGN(request.batch, predict::parse_batch_range(options.batch.empty() ? "1" : options.batch));
  request.binding.batch = request.batch.first;
  request.binding.insist_on_batch = !options.batch.empty();
  request.binding.data_sizes_at_most = true;
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  const std::string usual = is_llm(options) ? "fp16" : "fp32";
  RIDGE_ASSIGN(request.precision, precision_from_name(options.precision.empty() ? usual : options.precision));
  request.llm.precision_given = !options.precision.empty();
  RIDGE_ASSIGN(request.training, training_of(options, request.precision));
  if (!options.device.empty()) RIDGE_TRY(name_device(options.device, request));
  RIDGE_ASSIGN(request.engine, engine::engine_for(request.model, ""));
  return request;
}

}  // namespace ridge::cli
