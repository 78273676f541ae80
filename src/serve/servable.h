// Servable: what answers the requests to one version of a model: sessions of an engine (ServedVersion), or other models of this server
// (Ensemble).
//
// Thread-safe. Life: infer()… → close() → join(). Whoever holds a VersionPtr may call infer() at any time; after close() it is refused.
// join() must not be called by one of its own workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "serve/encoder.h"
#include "serve/model_settings.h"
#include "serve/service.h"

namespace ridge::serve {

class Servable;
using VersionPtr = std::shared_ptr<Servable>;
using PartsPtr = std::shared_ptr<const EnsembleParts>;

class Servable {
 public:
  virtual ~Servable() = default;

  virtual const ModelSettings& settings() const = 0;
  virtual const Json& config() const = 0;  // completed, as the wire has it
  // Of everything it was loaded from: equal = need not be loaded again.
  virtual const std::string& fingerprint() const = 0;
  virtual ModelStatistics statistics() const = 0;
  // Null: it is no language model.
  virtual TextModel* text_model() { return nullptr; }
  // kUnsupported: why it makes no embeddings.
  virtual Result<EncoderPtr> encoder() {
    return Error{Code::kUnsupported,
                 text_model() != nullptr ? "language models have no embeddings" : "it is an ensemble"};
  }
  // The models that an ensemble runs, by name; each once.
  virtual std::vector<std::string> models() const { return {}; }
  // Those models as they serve now, held; null of what is no ensemble. kUnavailable: one of them does not serve, or does not fit.
  virtual Result<PartsPtr> find_parts() const { return PartsPtr(); }

  // Just before it serves in place of `previous`.
  virtual void follow(const VersionPtr& /*previous*/) {}
  virtual void infer(InferRequest request, InferDone done) = 0;
  // A thread that brought requests in a round (round.h) brings no more of it.
  virtual void end_round() {}
  virtual void hurry() = 0;           // batches that form run at once
  virtual void drop_cancelled() = 0;  // as Service's
  // Refuses the waiting requests, and has the engine break off its runs.
  virtual void abort() = 0;
  virtual void close() = 0;
  // Waits until everything accepted was answered, but runs that were given up.
  virtual void join() = 0;
};

}  // namespace ridge::serve
