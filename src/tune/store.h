// Store: measured trials, kept in SQLite between runs, so that a killed run resumes and a repeated one is quick.
//
// A trial is found again only for the same machine, engine version, model content, input shapes, candidate and ordinal
// (how often that candidate was measured before). Losing the store loses time, never correctness: any problem
// (read-only, corrupt, from a newer ridge, locked for too long) costs one warning, after which nothing is stored.
// Several processes may use one store at once; the last to store a trial wins. One thread per object.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tune/candidate.h"
#include "tune/trial.h"

namespace ridge::tune {

// The conditions of a measurement, besides the candidate.
struct StoreKey {
  std::string machine;  // machine::Machine::id
  std::string engine;   // name and version
  std::string model;    // digest_model()
  std::string shapes;   // of the inputs at batch 1
  std::vector<Implementation> implementations =
      {};  // of the candidates; an implementation's identity belongs to its trials' key
};

class Store {
 public:
  // `path` empty: default_store_path().
  Store(const std::string& path, StoreKey key);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  std::optional<Trial> find(const Candidate& candidate, int ordinal);
  void keep(const Candidate& candidate, int ordinal, const Trial& trial);
  // The same for a record of any kind, under its own text instead of a candidate's.
  std::optional<Json> find(const std::string& what, int ordinal);
  void keep(const std::string& what, int ordinal, const Json& record);
  // Forgets everything under this key.
  void clear();
  bool usable() const { return database_ != nullptr; }

 private:
  struct Database;
  void give_up(const std::string& why);

  std::string path_;
  StoreKey key_;
  std::unique_ptr<Database> database_;
};

// $XDG_CACHE_HOME/ridge/tune.sqlite, or ~/.cache/ridge/tune.sqlite; "" where neither is set: nothing is stored.
std::string default_store_path();

}  // namespace ridge::tune
