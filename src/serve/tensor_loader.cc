#include "serve/tensor_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "engine/model_file.h"
#include "engine/own_format.h"
#include "engine/providers.h"
#include "measure/joint_rows.h"
#include "model/reader.h"
#include "model/rows.h"
#include "model/structure.h"
#include "model_config.pb.h"
#include "serve/config_complete.h"
#include "serve/config_json.h"
#include "serve/encoder.h"
#include "serve/engine_parameters.h"
#include "serve/ensemble_config.h"
#include "serve/instance_groups.h"
#include "serve/mapped_files.h"
#include "serve/public_text.h"
#include "serve/repository.h"
#include "serve/served_version.h"
#include "serve/settings_from_config.h"
#include "serve/shared_mapping.h"
#include "serve/warmup.h"

namespace ridge::serve {
namespace {

using Sessions = std::vector<std::unique_ptr<engine::Session>>;

// The batch sizes that each instance has warmed up. All run the same; one failure cancels the promise for all.
std::vector<int64_t> warm_in_all(std::span<Result<std::vector<int64_t>>> instances) {
  std::vector<int64_t> rows = *instances.front();
  for (const Result<std::vector<int64_t>>& instance : instances)
    if (*instance != rows) return {};
  return rows;
}

// When the runs before a version serves have to end: when the load is cancelled, or has taken too long.
class WarmUpEnd {
 public:
  WarmUpEnd(Clock& clock, std::chrono::seconds limit, const std::stop_token& cancelled)
      : limit_(limit), cancelled_(cancelled), on_cancel_(cancelled, [this] { end_.request_stop(); }) {
    if (limit.count() == 0) return;
    watch_ = std::jthread([this, &clock](const std::stop_token& done) {
      if (clock.sleep_until(clock.now() + limit_, done)) end_.request_stop();
    });
  }

  std::stop_token token() const { return end_.get_token(); }
  Status check() const {
    if (cancelled_.stop_requested()) return load_cancelled();
    if (!end_.stop_requested()) return {};
    return Error{Code::kTimeout,
                 fmt::format("its warm-up did not end within {} s (--warmup-timeout-secs)", limit_.count())};
  }

 private:
  const std::chrono::seconds limit_;
  const std::stop_token cancelled_;
  std::stop_source end_;
  const std::stop_callback<std::function<void()>> on_cancel_;
  std::jthread watch_;
};

// A session per instance, all opened and warmed up in parallel on their own threads. Returns the batch sizes warm on
// all of them.
Result<std::vector<int64_t>> open_sessions(const OpenFunction& open, std::span<const plan::Plan> plans,
                                           std::span<const HostPolicy> hosts, const ModelSettings& settings,
                                           Clock& clock, const WarmUpEnd& end, Sessions& sessions) {
  sessions.resize(static_cast<size_t>(settings.instances));
  std::vector<Result<std::vector<int64_t>>> results(sessions.size(), std::vector<int64_t>());
  auto open_one = [&](size_t i) -> Result<std::vector<int64_t>> {
    if (end.token().stop_requested()) return load_cancelled();
    try {
      if (!sessions[i]) {
        RIDGE_ASSIGN(sessions[i], open(plans[i]));
      }
      const std::stop_callback break_off(end.token(), [&session = *sessions[i]] { session.terminate(); });
      BatchRunner runner(settings, *sessions[i], clock);
      return warm_up(settings, runner, end.token());
    } catch (const std::bad_alloc&) {
      return Error{Code::kExhausted, "not enough memory to open and warm up the model; use fewer instances"};
    }
  };
  auto open_on_host = [&](size_t i) {
    const Status ran = run_on_host(hosts[i], [&]() -> Status {
      results[i] = open_one(i);
      return {};
    });
    if (!ran) results[i] = ran.error();
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < sessions.size(); ++i) threads.emplace_back([&, i] { open_on_host(i); });
    open_on_host(0);
  }
  RIDGE_TRY(end.check());
  for (const Result<std::vector<int64_t>>& result : results)
    if (!result) return result.error();
  return warm_in_all(results);
}

// A file of an engine's own format needs no backend in the configuration.
inference::ModelConfig config_for(const inference::ModelConfig& config, const std::string& file) {
  inference::ModelConfig own = config;
  const engine::Engine* owner = engine::owner_of(file);
  if (owner == nullptr) return own;
  if (own.backend().empty() && own.platform().empty()) own.set_backend(std::string(owner->backend));
  if (own.default_model_filename().empty())
    own.set_default_model_filename(std::filesystem::path(file).filename().string());
  return own;
}

// The configuration with the device of every instance decided. Engines without providers get GPUs by name only.
ConfigPtr placed_config(const ServerOptions& options, const inference::ModelConfig& config) {
  std::vector<int> gpus;
  if (const engine::Engine& engine = engine_of(config); engine.has_providers) {
    plan::Plan plan;
    plan.engine = engine.name;
    plan.engine_library = options.engine_library;
    gpus = options.find_gpus ? options.find_gpus(plan) : engine::usable_gpus(plan);
  }
  return place_instances(config, gpus);
}

// Triton runs without its rate limiter unless it is told to, so that these models serve as they do there by default.
void warn_of_rate_limiter(const std::string& model, const inference::ModelConfig& config) {
  if (std::ranges::any_of(config.instance_group(), [](const auto& group) { return group.has_rate_limiter(); }))
    log::warning(
        "model '{}': rate_limiter has no effect: there is no rate limiter here, and an instance runs whenever "
        "it has requests",
        model);
}

// One per instance. kUnsupported: the engine's threads cannot be kept on cores.
Result<std::vector<HostPolicy>> hosts_of(const ServerOptions& options, const std::string& model,
                                         const inference::ModelConfig& config) {
  for (const auto& group : config.instance_group())
    if (!group.host_policy().empty() &&
        std::ranges::find(options.host_policies, group.host_policy(), &HostPolicy::name) == options.host_policies.end())
      log::warning(
          "model '{}': its instance group has the host policy '{}', which no --host-policy sets; it runs on "
          "any core",
          model, group.host_policy());
  std::vector<HostPolicy> hosts = host_policies_of(config, options.host_policies);
  const engine::Engine& engine = engine_of(config);
  const auto bound = std::ranges::find_if(hosts, [](const HostPolicy& host) { return !host.name.empty(); });
  if (engine.own_threads || bound == hosts.end()) return hosts;
  return Error{Code::kUnsupported,
               fmt::format("host policy '{}': all models of {} share its threads, which cannot be kept on cores; give "
                           "the model another host_policy, or keep the whole server on cores (taskset -c)",
                           bound->name, engine.label)};
}

// One per instance.
Result<std::vector<plan::Plan>> plans_of(const ServerOptions& options, const inference::ModelConfig& config,
                                         std::span<const HostPolicy> hosts, const std::string& file) {
  std::vector<plan::Plan> plans;
  for (const plan::Device& device : devices_of(config)) {
    const HostPolicy& host = hosts[plans.size()];
    std::optional<int> threads;
    if (!host.cores.empty())
      threads = std::max(1, static_cast<int>(host.cores.size()) /
                                static_cast<int>(std::ranges::count(hosts, host.name, &HostPolicy::name)));
    RIDGE_ASSIGN(plan::Plan plan, plan_of(config, file, options.cores, options.engine_library, device, threads));
    plans.push_back(std::move(plan));
  }
  return plans;
}

// Before memory is taken for it.
Status check_batch_memory(const ModelSettings& settings, uint64_t limit) {
  const uint64_t needed = largest_batch_bytes(settings);
  if (limit == 0 || needed <= limit) return {};
  return Error{Code::kInvalid,
               fmt::format("max_batch_size {}: the inputs and outputs of such a batch take {}, and half of the memory "
                           "for this process is {}; set a smaller one",
                           settings.max_batch_size, format_bytes(static_cast<double>(needed)),
                           format_bytes(static_cast<double>(limit)))};
}

// Size of the model's file and its neighbours in its version's folder; of a repository that is one file: of that.
uint64_t bytes_of_files(const ModelSource& source, int64_t version, const std::string& file) {
  std::error_code error;
  const uint64_t bytes = bytes_of_folder(source.directory + "/" + std::to_string(version));
  return bytes > 0 ? bytes : std::filesystem::file_size(file, error);
}

// Facts from a model's graph.
struct GraphFacts {
  Status rows;                          // whether they may be batched
  std::optional<model::Graph> graph;    // absent: runs need not show it
  std::unique_ptr<BatchBounds> bounds;  // null: not known
};

// While the graph is read the file is in memory once more, beside what the engine takes of it, once or twice.
Status check_memory_for_graph(const ServerOptions& options, const std::string& file) {
  constexpr uint64_t kTimes = 3;
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(file, error);
  const uint64_t free = options.free_memory ? options.free_memory() : 0;
  if (error || free == 0 || free / kTimes >= file_bytes) return {};
  return Error{Code::kExhausted,
               fmt::format("its graph is not read, as its file has {} and {} of memory are free",
                           format_bytes(static_cast<double>(file_bytes)), format_bytes(static_cast<double>(free)))};
}

// Bounds are those of CPUs.
GraphFacts facts_of(const std::string& file, const plan::Plan& plan, bool looks_at_rows, const BoundFunction& bound) {
  GraphFacts facts;
  Result<model::UnboundModel> model = engine::read_model(file, plan.engine_library);
  if (!model) {
    if (looks_at_rows) facts.rows = model.error();
    return facts;
  }
  if (looks_at_rows) {
    facts.rows = model::check_rows_tied(*model);
    if (Result<model::Graph> graph = model->bind()) facts.graph = std::move(*graph);
  }
  if (bound) facts.bounds = std::make_unique<BatchBounds>(std::move(*model), plan.precision, bound);
  return facts;
}

// Read beside the engine, which takes as long or longer.
std::future<GraphFacts> read_graph(const ServerOptions& options, std::span<const plan::Plan> plans,
                                   const std::string& model, const std::string& file, bool looks_at_rows) {
  const bool on_cpu =
      std::all_of(plans.begin(), plans.end(), [](const plan::Plan& plan) { return plan.device == "cpu"; });
  const BoundFunction bound = on_cpu ? options.bound : nullptr;
  const Status memory = check_memory_for_graph(options, file);
  if (!memory) log::info("model '{}': its share of the physical limit is not shown: {}", model, memory.error().message);
  return std::async(std::launch::async, [=, plan = plans.front()] {
    if (!memory) return GraphFacts{looks_at_rows ? memory : ok_status(), std::nullopt, nullptr};
    return looks_at_rows || bound ? facts_of(file, plan, looks_at_rows, bound) : GraphFacts{};
  });
}

bool vouches_for_rows(const inference::ModelConfig& config) {
  const auto found = config.parameters().find("ridge_row_check");
  return found != config.parameters().end() && found->second.string_value() == "off";
}

// Checks that requests may run together: as the graph says, and then as runs of the first session show.
Status check_rows(const GraphFacts& facts, const LoadedModel& loaded, const plan::Plan& plan, const WarmUpEnd& end,
                  Clock& clock) {
  if (!loaded.settings.batching() || !facts.rows || !facts.graph) return facts.rows;
  engine::Session& session = *loaded.sessions.front();
  const std::stop_callback break_off(end.token(), [&session] { session.terminate(); });
  return run_on_host(loaded.hosts.front(), [&] {
    return measure::check_joint_rows(session, &*facts.graph,
                                     {.most = loaded.settings.max_batch_size,
                                      .precision = plan.precision,
                                      .shapes = shapes_of_sample(loaded.settings),
                                      .stop = end.token()},
                                     clock);
  });
}

// Serves the model without batching. Warm-up samples stay as they were: what was a batch is their first dimension.
Status stop_batching(const Error& why, bool asked, const engine::Signature& signature, const std::string& directory,
                     size_t queue_limit, ConfigPtr& config, ModelSettings& settings) {
  config = without_batching(*config);
  std::vector<WarmupSample> samples = std::move(settings.warmup_samples);
  RIDGE_ASSIGN(settings, settings_of(*config, signature, settings.version, directory, queue_limit));
  settings.warmup_samples = std::move(samples);
  const std::string text = fmt::format("served without batching: {}", why.message);
  if (!asked) {
    log::info("model '{}' version {} is {}", settings.name, settings.version, text);
    return {};
  }
  settings.notice = text;
  log::warning("model '{}' version {} is {}; set max_batch_size: 0 in its config.pbtxt", settings.name,
               settings.version, text);
  return {};
}

// Engines tell a tensor without a shape in the file from a scalar no better than its signature does: as [].
Status check_ranks(const inference::ModelConfig& config, const engine::Signature& signature, const std::string& file) {
  std::set<std::string> open;  // tensors that the engine gives as [], and whose dims the configuration leaves to it
  auto collect = [&](const auto& configured, const std::vector<TensorSpec>& specs) {
    for (const TensorSpec& spec : specs) {
      const auto found = std::find_if(configured.begin(), configured.end(),
                                      [&](const auto& tensor) { return tensor.name() == spec.name; });
      const bool left_open = configured.empty() || (found != configured.end() && found->dims().empty());
      if (spec.shape.empty() && left_open) open.insert(spec.name);
    }
  };
  collect(config.input(), signature.inputs);
  collect(config.output(), signature.outputs);
  if (open.empty() || !file.ends_with(".onnx")) return {};
  for (const std::string& name : model::tensors_without_shape(file))
    if (open.contains(name))
      return Error{Code::kInvalid, fmt::format("'{}' has no shape in the model, so its number of dimensions is not "
                                               "known; write its dims in config.pbtxt",
                                               name)};
  return {};
}

// A file that the engine did not open. What is wrong with a file is said in our words, and is the file's fault whatever
// the engine calls it.
Error why_not_opened(Error error, const std::string& file) {
  const bool unclear = error.code == Code::kFailed || error.code == Code::kNotFound;
  if (!unclear || !file.ends_with(".onnx")) return error;
  const Result<model::UnboundModel> read = model::UnboundModel::read(file);
  return read ? std::move(error) : invalid(read.error().message);
}

Result<std::unique_ptr<engine::Session>> open_file(const OpenFunction& open, const plan::Plan& plan,
                                                   const std::string& file) {
  RIDGE_TRY(open_regular_file(file));  // engines give numbers for what keeps them from it
  Result<std::unique_ptr<engine::Session>> session = open(plan);
  return session ? std::move(session) : why_not_opened(std::move(session).error(), file);
}

// Whatever keeps a model from being an encoder, its tensors are served.
Result<EncoderPtr> encoder_of(const inference::ModelConfig& config, const ModelSettings& settings,
                              const std::string& folder) {
  Result<EncoderPtr> encoder = read_encoder(config, settings, folder);
  if (encoder) return encoder;
  Error error = std::move(encoder).error();
  if (error.code != Code::kNotFound) log::info("model '{}' makes no embeddings: {}", settings.name, error.message);
  error.message = without_folders(std::move(error.message), {{folder, ""}});  // clients get it, too
  return error;
}

Result<LoadedModel> open_version(const LoadContext& context, const ModelSource& source, int64_t version) {
  const ServerOptions& options = context.options;
  if (context.stop.stop_requested()) return load_cancelled();
  const TimePoint start = options.clock->now();
  const LoadGuard guard;
  LoadedModel loaded;
  loaded.fingerprint = source_fingerprint(source, version);
  loaded.files = source.files;
  OpenFunction open =
      options.open ? options.open : OpenFunction([](const plan::Plan& plan) { return engine::open(plan); });
  RIDGE_ASSIGN(const std::string file, find_file(source, version));
  loaded.file_bytes = bytes_of_files(source, version, file);
  RIDGE_TRY(check_free_memory(options, loaded.file_bytes));
  const ConfigPtr placed = placed_config(options, config_for(*source.config, file));
  warn_of_rate_limiter(source.name, *placed);
  RIDGE_ASSIGN(loaded.hosts, hosts_of(options, source.name, *placed));
  RIDGE_ASSIGN(const std::vector<plan::Plan> plans, plans_of(options, *placed, loaded.hosts, file));
  if (source.sent)
    for (const plan::Plan& plan : plans) RIDGE_TRY(check_sent_options(plan));
  const bool asks = placed->max_batch_size() > 0, refuses = source.states_batch_size && !asks;
  const bool judged = !refuses && !options.open && !engine_of(*placed).for_tests;
  std::future<GraphFacts> graph = read_graph(options, plans, source.name, file, judged);
  loaded.sessions.resize(1);
  RIDGE_TRY(run_on_host(loaded.hosts.front(), [&]() -> Status {
    RIDGE_ASSIGN(loaded.sessions[0], open_file(open, plans.front(), file));
    return {};
  }));
  const engine::Signature& signature = loaded.sessions[0]->signature();
  RIDGE_TRY(check_ranks(*placed, signature, file));
  GraphFacts facts = graph.get();
  if (vouches_for_rows(*placed)) facts.graph.reset();
  RIDGE_ASSIGN(ConfigPtr config, complete_config(*placed, source.name, signature, facts.rows && !refuses));
  RIDGE_ASSIGN(loaded.settings, settings_of(*config, signature, version, source.directory, options.queue_limit));
  RIDGE_TRY(check_batch_memory(loaded.settings, options.batch_memory));
  loaded.encoder = encoder_of(*config, loaded.settings, std::filesystem::path(file).parent_path().string());
  if (const engine::Info& info = loaded.sessions[0]->info(); !info.executed.empty())
    log::info("{} on {}: {}", source.name, info.device, info.executed);
  std::optional<WarmUps::Scope> warming(std::in_place, context.warm_ups, source.name);
  const WarmUpEnd end(*options.clock, options.warmup_limit, context.stop);
  if (const Status rows = check_rows(facts, loaded, plans.front(), end, *options.clock);
      !rows && loaded.settings.batching()) {
    RIDGE_TRY(end.check());
    RIDGE_TRY(
        stop_batching(rows.error(), asks, signature, source.directory, options.queue_limit, config, loaded.settings));
  }
  loaded.config = std::make_shared<const Json>(config_to_json(*config));
  RIDGE_ASSIGN(std::vector<int64_t> warm,
               open_sessions(open, plans, loaded.hosts, loaded.settings, *options.clock, end, loaded.sessions));
  warming.reset();
  if (loaded.settings.batching() && loaded.sessions[0]->info().prepares_for_rows)
    loaded.settings.prepared_rows = std::move(warm);
  loaded.bounds = std::move(facts.bounds);
  loaded.bounded_runs =
      loaded.bounds != nullptr && !loaded.bounds->has_subgraphs() && loaded.settings.fixed_input_shapes;
  RIDGE_TRY(keep_mapped_files(std::filesystem::path(file).parent_path().string()));
  if (guard.lost_memory() || source_fingerprint(source, version) != loaded.fingerprint)
    return Error{Code::kUnavailable,
                 "its files were changed while they were read; load it again when they are complete"};
  loaded.load_time = options.clock->now() - start;
  return loaded;
}

}  // namespace

Result<std::shared_ptr<Servable>> load_tensor_model(const LoadContext& context, const ModelSource& source,
                                                    int64_t version) {
  RIDGE_ASSIGN(LoadedModel loaded, open_version(context, source, version));
  const engine::Info& engine = loaded.sessions.front()->info();
  log::info("model '{}' version {} is ready after {:.2f} s: {} {} on {}, {}", source.name, version,
            to_seconds(loaded.load_time), engine.name, engine.version, engine.device,
            counted(loaded.sessions.size(), "instance"));
  auto served = std::make_shared<ServedVersion>(std::move(loaded), context.timer, *context.options.clock,
                                                context.options.recorder.get(), context.run_limit, context.cache);
  served->start();
  return std::shared_ptr<Servable>(std::move(served));
}

}  // namespace ridge::serve
