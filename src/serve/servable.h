// Servable: answers the requests to one version of a model, by sessions of an engine (ServedVersion), by other models
// of this server (Ensemble), or by a decoder (LanguageModel). `offers` says what it answers.
//
// Thread-safe. Life: requests… → close() → join(). Whoever holds a VersionPtr may send requests at any time; after
// close() they are refused. join() must not be called by one of its own workers.
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

class Ensemble;
class Servable;
class TensorModel;
using VersionPtr = std::shared_ptr<Servable>;
using PartsPtr = std::shared_ptr<const EnsembleParts>;

// What a version answers. The pointers live as long as it does; null: not that.
struct Offers {
  TensorModel* tensors = nullptr;
  const Ensemble* ensemble = nullptr;  // then `tensors` is the same
  TextModel* text = nullptr;
  Result<EncoderPtr> encoder;  // kUnsupported: why it makes no embeddings
};

class Servable {
 public:
  explicit Servable(Offers what) : offers(std::move(what)) {}
  virtual ~Servable() = default;
  const Offers offers;

  virtual const ModelSettings& settings() const = 0;
  virtual const Json& config() const = 0;  // completed, as the wire has it
  // Fingerprint of everything it was loaded from: equal = need not be loaded again.
  virtual const std::string& fingerprint() const = 0;
  virtual ModelStatistics statistics() const = 0;

  // Just before it serves in place of `previous`.
  virtual void follow(const VersionPtr& /*previous*/) {}
  // Refuses the waiting requests, and has the engine break off its runs.
  virtual void abort() = 0;
  virtual void close() = 0;
  // Waits until everything accepted was answered, but runs that were given up.
  virtual void join() = 0;
};

// A version that takes tensors.
class TensorModel : public Servable {
 public:
  using Servable::Servable;
  virtual void infer(InferRequest request, InferDone done) = 0;
  // A thread that brought requests in a round (round.h) brings no more of it.
  virtual void end_round() {}
  virtual void hurry() {}           // batches that form run at once
  virtual void drop_cancelled() {}  // as Service's
};

// kInvalid: the version takes no tensors.
Result<TensorModel*> tensor_model(const Servable& version);

}  // namespace ridge::serve
