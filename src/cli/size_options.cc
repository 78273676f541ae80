// The questions of `ridge size`: a load, what it costs, training, serving on GPUs.
#include <CLI/CLI.hpp>

#include "cli/number_checks.h"
#include "cli/plan_options.h"

namespace ridge::cli {
namespace {

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

bool wants_cost(const PlanOptions& options) {
  const app::CostRequest& c = options.costs;
  return options.cost || c.power_w || c.load_factor || c.idle_factor || c.pue || c.kwh_usd || c.years ||
         c.utilisation || c.staff_percent || c.rented || c.price_usd || c.hour_usd;
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

}  // namespace

void declare_size(CLI::App& app, PlanOptions& options) {
  declare_plan(app, options);
  options.layers = 0;  // unless they are asked for
  app.add_option("--llm", options.request.llm.flags);
  app.add_option("--manifest", options.manifest);
  declare_serving(app, options.request.llm.serving);
  declare_load(app, options);
  declare_cost(app, options);
  declare_training(app, options);
}

Status add_questions(const PlanOptions& options, app::PlanRequest& request) {
  RIDGE_ASSIGN(request.load, load_of(options));
  if (wants_cost(options)) request.cost = options.costs;
  RIDGE_ASSIGN(request.training, training_of(options, request.precision));
  if (options.command.verb != kSizeVerb || is_llm(options) || request.load || request.cost || request.training)
    return {};
  return Error{
      Code::kInvalid,
      "what is to be sized? --rps (machines for a load), --cost or --training; ridge plan MODEL shows what one "
      "run costs"};
}

}  // namespace ridge::cli
