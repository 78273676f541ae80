#include "serve/server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "base/nearest.h"
#include "serve/cuda_region.h"
#include "serve/ensemble.h"
#include "serve/ensemble_run.h"
#include "serve/heap_keeper.h"
#include "serve/life_cycle.h"
#include "serve/region_table.h"
#include "serve/repository.h"
#include "serve/text_model.h"

namespace ridge::serve {
namespace {

constexpr std::chrono::seconds kLongWarmUp{10};
constexpr std::chrono::milliseconds kSettleTime{1000};  // between two looks at files that are being written

class ModelServer final : public Server {
 public:
  explicit ModelServer(ServerOptions options) : options_(std::move(options)), models_(options_, heap_) {}
  ~ModelServer() override {
    drain();
    shadows_->log_results();
  }

  void load_all() override;
  void retire() override { retired_ = true; }
  void begin_drain() override;
  bool draining() const override { return draining_; }
  std::vector<std::pair<std::string, uint64_t>> failed_loads() const override { return models_.table().failed_loads(); }
  std::vector<std::pair<std::string, uint64_t>> given_up() const override { return models_.table().given_up(); }
  std::vector<ShadowStatistics> shadows() const override { return shadows_->statistics(); }
  void abort() override;
  void drain() override;

  void infer(InferRequest request, InferDone done) override;
  void drop_cancelled() override;
  bool live() const override { return true; }
  bool ready() const override;
  bool model_ready(const std::string& model, int64_t version) const override;
  Result<ModelMetadata> metadata(const std::string& model, int64_t version) const override;
  Result<Json> config(const std::string& model, int64_t version) const override;
  Result<std::vector<ModelStatistics>> statistics(const std::string& model, int64_t version) const override;
  std::vector<IndexEntry> index(bool only_ready) const override;
  Status check_control() const override;
  Status load(const std::string& model, const LoadRequest& request) override;
  Status unload(const std::string& model, bool dependents) override;
  void freed_much() override { heap_.note(); }
  Result<TextModelPtr> text_model(const std::string& model) const override;
  std::vector<TextModelPtr> text_models() const override;
  std::vector<TextModelPtr> retired_text_models() const override;
  Result<EncoderPtr> encoder(const std::string& model) const override;
  std::vector<EncoderPtr> encoders() const override;
  std::vector<std::string> long_warm_ups() const override { return models_.warm_ups().longer_than(kLongWarmUp); }
  Status register_region(RegionRequest region) override { return regions_.add(std::move(region)); }
  void unregister_regions(RegionKind kind, const std::string& name) override { regions_.remove(kind, name); }
  Result<std::vector<RegionRequest>> regions(RegionKind kind, const std::string& name) const override {
    return regions_.list(kind, name);
  }

 private:
  Result<VersionPtr> version_for(const InferRequest& request);
  Result<VersionPtr> find_ready(const std::string& model, int64_t version) const;
  Versions ready_versions(const std::string& model) const;
  std::vector<std::string> startup_models();
  int loads_at_once() const;
  RepositoryView look_at_repositories() const;
  void poll(const std::stop_token& stop);

  const ServerOptions options_;
  RegionTable regions_{open_cuda_region};
  HeapKeeper heap_{*options_.clock};
  const std::shared_ptr<Shadows> shadows_ = std::make_shared<Shadows>(
      options_.shadows, *options_.clock,
      [this](const std::string& model, int64_t version) { return models_.table().find(model, version); });
  LifeCycle models_;
  std::atomic<uint64_t> turn_{0};  // of requests that are shared out over versions
  std::atomic<bool> loaded_{false};
  std::atomic<bool> retired_{false};
  std::atomic<bool> draining_{false};
  RepositoryView seen_;  // of what was loaded; written by load_all(), then by the poll thread only
  Mutex poll_thread_mutex_;
  std::jthread poll_thread_ RIDGE_GUARDED_BY(poll_thread_mutex_);  // control mode poll
};

int ModelServer::loads_at_once() const {
  if (options_.load_threads > 0) return options_.load_threads;
  int cores = options_.cores > 0 ? options_.cores : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, 4);
}

// Why a name cannot be loaded, with the existing names.
std::string nowhere(const std::string& wanted, const std::vector<std::string>& there) {
  constexpr size_t kMost = 10;
  std::string text = "no repository has a model of that name";
  if (there.empty()) return text + "; the repositories hold no models";
  const std::string near = did_you_mean(wanted, there);
  text += near;
  auto end = there.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, there.size()));
  return text + fmt::format("{} there is '{}'{}", near.empty() ? ";" : "", fmt::join(there.begin(), end, "', '"),
                            there.size() > kMost ? ", …" : "");
}

// The names to load at start. Reports and omits missing ones.
std::vector<std::string> ModelServer::startup_models() {
  std::vector<std::string> there, named;
  auto found = scan_repositories(options_.repositories);
  if (!found) log::error("{}", found.error().message);
  if (found)
    for (const ModelDirectory& model : *found)
      if (model.passed_over.empty()) there.push_back(model.name);
  bool all = options_.control != ControlMode::kExplicit;
  for (const std::string& name : options_.startup_models) {
    if (name == "*")
      all = true;
    else if (find_model(options_.repositories, name))
      named.push_back(name);
    else
      models_.miss(name, nowhere(name, there));
  }
  return all ? there : named;
}

void ModelServer::load_all() {
  if (options_.control == ControlMode::kPoll) seen_ = look_at_repositories();
  const std::vector<std::string> models = startup_models();
  models_.require(models);
  models_.load_many(models, loads_at_once());
  loaded_ = true;
  MutexLock lock(poll_thread_mutex_);
  if (options_.control == ControlMode::kPoll && !draining_)
    poll_thread_ = std::jthread([this](const std::stop_token& stop) { poll(stop); });
}

RepositoryView ModelServer::look_at_repositories() const {
  RepositoryView view;
  auto found = scan_repositories(options_.repositories);
  if (!found) {
    log::warning("{}; loaded models stay", found.error().message);
    return seen_;
  }
  for (const ModelDirectory& model : *found)
    if (std::string files = fingerprint(model.path); model.passed_over.empty() && !files.empty())
      view[model.name] = std::move(files);
  return view;
}

void ModelServer::poll(const std::stop_token& stop) {
  RepositoryView last = seen_;
  std::chrono::milliseconds wait = options_.poll_period;
  while (options_.clock->sleep_until(options_.clock->now() + wait, stop) && !draining_) {
    RepositoryView now = look_at_repositories();
    RepositoryChanges changes = compare_views(seen_, last, now);
    models_.load_many(changes.load, loads_at_once());
    for (const std::string& model : changes.load) seen_[model] = now[model];
    for (const std::string& model : changes.unload) {
      models_.unload(model);
      seen_.erase(model);
    }
    wait = changes.settling ? std::min(options_.poll_period, kSettleTime) : options_.poll_period;
    last = std::move(now);
  }
}

void ModelServer::begin_drain() {
  draining_ = true;
  models_.stop_loading();
  for (const VersionPtr& version : models_.table().ready_versions(""))
    if (version->offers.tensors != nullptr) version->offers.tensors->hurry();
}

void ModelServer::abort() { models_.abort(); }

void ModelServer::drain() {
  begin_drain();
  {
    MutexLock lock(poll_thread_mutex_);
    poll_thread_ = {};  // requests its stop and joins it
  }
  models_.close();
}

Status bind_regions(const RegionTable& regions, InferRequest& request) {
  try {
    return regions.bind(request);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, "not enough memory for the request's strings"};
  }
}

// A version that does not serve leaves its share to the highest.
Result<VersionPtr> ModelServer::version_for(const InferRequest& request) {
  RIDGE_ASSIGN(VersionPtr version, models_.table().find(request.model, request.version));
  const Traffic& traffic = version->settings().traffic;
  if (request.version != 0 || traffic.shares.empty()) return version;
  Result<VersionPtr> chosen = models_.table().find(request.model, traffic.version_for(request, turn_++));
  return chosen ? *chosen : version;
}

void ModelServer::infer(InferRequest request, InferDone done) {
  if (draining_) return done(shutting_down());
  Result<VersionPtr> version = version_for(request);
  if (!version) return done(std::move(version).error());
  const Result<TensorModel*> tensors = tensor_model(**version);
  if (!tensors) return done(tensors.error());
  if (Status bound = bind_regions(regions_, request); !bound) {
    request = {};  // releases what it has found
    return done(std::move(bound).error());
  }
  if (!options_.shadows.empty()) done = shadows_->beside(request, **version, std::move(done));
  (*tensors)->infer(std::move(request), std::move(done));
}

void ModelServer::drop_cancelled() {
  for (const VersionPtr& version : models_.table().ready_versions(""))
    if (version->offers.tensors != nullptr) version->offers.tensors->drop_cancelled();
}

// Asks the table; but an ensemble is ready only while its models are.
Result<VersionPtr> ModelServer::find_ready(const std::string& model, int64_t version) const {
  RIDGE_ASSIGN(VersionPtr found, models_.table().find(model, version));
  if (Result<PartsPtr> parts = ensemble_parts(*found); !parts) return parts.error();
  return found;
}

Versions ModelServer::ready_versions(const std::string& model) const {
  Versions versions = models_.table().ready_versions(model);
  std::erase_if(versions, [](const VersionPtr& version) { return !ensemble_parts(*version); });
  return versions;
}

bool ModelServer::ready() const {
  if (!loaded_ || retired_ || draining_) return false;
  if (!options_.strict_readiness) return true;
  if (models_.table().misses_any()) return false;
  for (const VersionPtr& version : models_.table().required())
    if (!ensemble_parts(*version)) return false;
  std::vector<std::string> unready = models_.table().unready();
  return std::none_of(unready.begin(), unready.end(), [this](const std::string& model) {
    return find_model(options_.repositories, model).has_value();  // one whose folder was removed need not be served
  });
}

bool ModelServer::model_ready(const std::string& model, int64_t version) const {
  return !draining_ && find_ready(model, version).ok();
}

// True if each request belongs to a sequence: of the model, or of a step of the ensemble.
bool needs_sequences(const Servable& served) {
  if (served.settings().sequences) return true;
  const Result<PartsPtr> parts = ensemble_parts(served);
  return parts && *parts && std::any_of((*parts)->steps.begin(), (*parts)->steps.end(), [](const auto& step) {
           return needs_sequences(*step.version);
         });
}

TensorSpec wire_spec(const TensorSettings& tensor, bool batching) {
  TensorSpec spec{tensor.name, tensor.type, tensor.dims};
  if (batching) spec.shape.insert(spec.shape.begin(), -1);
  return spec;
}

Result<ModelMetadata> ModelServer::metadata(const std::string& model, int64_t version) const {
  RIDGE_ASSIGN(VersionPtr served, find_ready(model, version));
  const ModelSettings& settings = served->settings();
  ModelMetadata metadata{settings.name,           {}, settings.platform, {}, {}, settings.max_batch_size,
                         needs_sequences(*served)};
  if (version != 0) metadata.versions = {version};
  if (version == 0)
    for (const VersionPtr& ready : ready_versions(model)) metadata.versions.push_back(ready->settings().version);
  for (const TensorSettings& input : settings.inputs) metadata.inputs.push_back(wire_spec(input, settings.batching()));
  for (const TensorSettings& output : settings.outputs)
    metadata.outputs.push_back(wire_spec(output, settings.batching()));
  return metadata;
}

Result<Json> ModelServer::config(const std::string& model, int64_t version) const {
  RIDGE_ASSIGN(VersionPtr served, find_ready(model, version));
  return served->config();
}

Result<std::vector<ModelStatistics>> ModelServer::statistics(const std::string& model, int64_t version) const {
  std::vector<ModelStatistics> statistics;
  if (!model.empty()) {
    RIDGE_ASSIGN(VersionPtr served, find_ready(model, version));
    if (version != 0) statistics.push_back(served->statistics());
  }
  if (version == 0)
    for (const VersionPtr& ready : ready_versions(model)) statistics.push_back(ready->statistics());
  return statistics;
}

Result<TextModelPtr> ModelServer::text_model(const std::string& model) const {
  if (draining_) return shutting_down();
  RIDGE_ASSIGN(VersionPtr served, models_.table().find(model, 0));
  if (TextModel* text = served->offers.text) return TextModelPtr(std::move(served), text);
  return invalid(fmt::format("model '{}' is not a language model; send its {}", model,
                             served->offers.encoder ? std::string("texts to POST /v1/embeddings")
                                                    : fmt::format("tensors to POST /v2/models/{}/infer", model)));
}

// Results of `pick` for the highest version of each model, if it returns one. `versions`: by name and version.
template <typename Picked>
std::vector<Picked> of_highest(const Versions& versions, Picked (*pick)(const VersionPtr& version)) {
  std::vector<Picked> found;
  std::string last;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if ((*version)->settings().name == last) continue;
    Picked picked = pick(*version);
    if (picked == nullptr) continue;
    last = (*version)->settings().name;
    found.push_back(std::move(picked));
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<TextModelPtr> ModelServer::text_models() const {
  return of_highest<TextModelPtr>(models_.table().ready_versions(""), [](const VersionPtr& version) {
    TextModel* const text = version->offers.text;
    return text == nullptr ? nullptr : TextModelPtr(version, text);
  });
}

std::vector<TextModelPtr> ModelServer::retired_text_models() const {
  std::vector<TextModelPtr> models;
  for (const std::shared_ptr<Servable>& version : models_.retired())
    if (TextModel* const text = version->offers.text; text != nullptr) models.emplace_back(version, text);
  return models;
}

Result<EncoderPtr> ModelServer::encoder(const std::string& model) const {
  if (draining_) return shutting_down();
  RIDGE_ASSIGN(const VersionPtr served, models_.table().find(model, 0));
  const Result<EncoderPtr>& encoder = served->offers.encoder;
  if (encoder) return encoder;
  return invalid(fmt::format("model '{}' makes no embeddings: {}", model, encoder.error().message));
}

std::vector<EncoderPtr> ModelServer::encoders() const {
  return of_highest<EncoderPtr>(models_.table().ready_versions(""), [](const VersionPtr& version) {
    const Result<EncoderPtr>& encoder = version->offers.encoder;
    return encoder ? *encoder : nullptr;
  });
}

std::vector<IndexEntry> ModelServer::index(bool only_ready) const {
  std::vector<IndexEntry> entries = models_.table().index();
  for (IndexEntry& entry : entries) {
    if (entry.state != ModelState::kReady) continue;
    if (Result<VersionPtr> found = find_ready(entry.name, entry.version); !found) {
      entry.state = ModelState::kUnavailable;
      entry.reason = found.error().message;
    }
  }
  for (const std::shared_ptr<Servable>& version : models_.retired()) {
    const ModelSettings& settings = version->settings();
    const auto shown = [&](const IndexEntry& entry) {
      return entry.name == settings.name && entry.version == settings.version && entry.state == ModelState::kUnloading;
    };
    if (std::ranges::none_of(entries, shown))
      entries.push_back({settings.name, settings.version, ModelState::kUnloading,
                         "replaced by a newer load; it ends when its last answers have ended"});
  }
  std::set<std::string> known;
  for (const IndexEntry& entry : entries) known.insert(entry.name);
  if (auto found = scan_repositories(options_.repositories))
    for (const ModelDirectory& model : *found)
      if (known.insert(model.name).second)
        entries.push_back({model.name, 0, ModelState::kUnavailable, model.passed_over});
  if (only_ready) std::erase_if(entries, [](const IndexEntry& entry) { return entry.state != ModelState::kReady; });
  return entries;
}

Status ModelServer::check_control() const {
  if (draining_) return shutting_down();
  if (options_.control == ControlMode::kExplicit) return {};
  return Error{Code::kUnavailable,
               "explicit model load / unload is not allowed; start the server with "
               "--model-control-mode=explicit"};
}

Status ModelServer::load(const std::string& model, const LoadRequest& request) {
  RIDGE_TRY(check_control());
  return models_.load(model, request);
}

Status ModelServer::unload(const std::string& model, bool dependents) {
  RIDGE_TRY(check_control());
  models_.unload(model, dependents);
  return {};
}

Status check_options(const ServerOptions& options) {
  if (options.repositories.empty())
    return Error{Code::kInvalid, "no model repository was named; give the folder that holds one folder per model"};
  if (options.control == ControlMode::kPoll && options.poll_period.count() <= 0)
    return Error{Code::kInvalid, "the poll period must be above 0"};
  if (!options.startup_models.empty() && options.control != ControlMode::kExplicit)
    return Error{Code::kInvalid, "models to load at start are named only with --model-control-mode=explicit"};
  return {};
}

// Repositories without a model are right where models come later.
Status check_empty(const ServerOptions& options) {
  if (options.control != ControlMode::kNone) return {};
  return Error{
      Code::kNotFound,
      fmt::format("no models in {}: give an .onnx file, a folder of .onnx files, or a folder that holds a folder per "
                  "model, {}/NAME/1/model.onnx; to load models later, --model-control-mode=explicit or poll",
                  fmt::join(options.repositories, ", "), options.repositories.front())};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerOptions options) {
  RIDGE_TRY(check_options(options));
  RIDGE_ASSIGN(auto models, scan_repositories(options.repositories));
  for (const ModelDirectory& model : models)
    if (!model.passed_over.empty()) log::warning("{} is not served: {}", model.path, model.passed_over);
  if (std::ranges::none_of(models, [](const auto& model) { return model.passed_over.empty(); }))
    RIDGE_TRY(check_empty(options));
  return std::unique_ptr<Server>(std::make_unique<ModelServer>(std::move(options)));
}

Result<std::unique_ptr<Server>> start(ServerOptions options) {
  RIDGE_ASSIGN(auto server, Server::create(std::move(options)));
  server->load_all();
  return server;
}

}  // namespace ridge::serve
