#include "serve/ensemble_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "serve/ensemble.h"
#include "serve/ensemble_config.h"

namespace ridge::serve {
namespace {

constexpr size_t kDeepestNesting = 16;  // ensembles within ensembles

// Checks that no ensemble is among the models of its own steps, and of theirs; of models that do not serve it reads the
// configurations.
Status check_nesting(const LoadContext& context, const Ensemble& ensemble) {
  const std::string& name = ensemble.settings().name;
  std::vector<std::vector<std::string>> ways;
  std::set<std::pair<std::string, size_t>> seen;  // models, each at a depth: ways of one length go on alike
  for (const std::string& model : ensemble.models()) ways.push_back({name, model});
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::vector<std::string> way = ways[i];
    if (way.back() == name)
      return invalid(fmt::format("an ensemble cannot contain itself: '{}'", fmt::join(way, "' → '")));
    if (way.size() > kDeepestNesting)
      return invalid(
          fmt::format("ensembles are nested deeper than {}: '{}'", kDeepestNesting, fmt::join(way, "' → '")));
    if (!seen.emplace(way.back(), way.size()).second) continue;
    const Result<VersionPtr> next = context.find(way.back(), 0);
    for (const std::string& model :
         next ? ensemble_models(**next) : models_of_ensemble(context.options, way.back(), {})) {
      ways.push_back(way);
      ways.back().push_back(model);
    }
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Servable>> load_ensemble(const LoadContext& context, const ModelSource& source,
                                                int64_t version) {
  Clock& clock = *context.options.clock;
  const TimePoint start = clock.now();
  RIDGE_ASSIGN(LoadedEnsemble loaded, read_ensemble(*source.config, source.name, version, source.directory));
  loaded.fingerprint = source_fingerprint(source, version);
  loaded.files = source.files;
  loaded.load_time = clock.now() - start;
  const size_t steps = loaded.plan.steps.size();
  auto ensemble = std::make_shared<Ensemble>(std::move(loaded), context.find, clock, context.cache);
  RIDGE_TRY(check_nesting(context, *ensemble));
  log::info("ensemble '{}' version {} of {} is loaded", source.name, version, counted(steps, "step"));
  return std::shared_ptr<Servable>(std::move(ensemble));
}

}  // namespace ridge::serve
