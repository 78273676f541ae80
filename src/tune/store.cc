#include "tune/store.h"

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/cache_folder.h"
#include "base/log.h"

namespace ridge::tune {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kBusyTimeoutMs = 5000;
constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS trial ("
    " machine TEXT NOT NULL, engine TEXT NOT NULL, model TEXT NOT NULL, shapes TEXT NOT NULL,"
    " candidate TEXT NOT NULL, ordinal INTEGER NOT NULL, result TEXT NOT NULL,"
    " PRIMARY KEY (machine, engine, model, shapes, candidate, ordinal)) WITHOUT ROWID";

std::string key_text(const Candidate& candidate, const StoreKey& key) {
  const Implementation* used = implementation_of(candidate, key.implementations);
  const bool own = used != nullptr && !used->identity.empty();
  return own ? text(candidate) + " of " + used->identity : text(candidate);
}

}  // namespace

// Owns the connection. Every call returns false on an SQLite error, whose text message() gives.
struct Store::Database {
  sqlite3* handle = nullptr;
  ~Database() { sqlite3_close(handle); }

  std::string message() const { return handle ? sqlite3_errmsg(handle) : "out of memory"; }
  bool execute(const std::string& sql) {
    return sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  // Runs one statement with text parameters; the first column of the first row, if any, goes to `answer`.
  bool query(const char* sql, std::span<const std::string> parameters, std::optional<std::string>* answer = nullptr) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr) != SQLITE_OK) return false;
    for (size_t i = 0; i < parameters.size(); ++i)
      sqlite3_bind_text(statement, static_cast<int>(i) + 1, parameters[i].data(),
                        static_cast<int>(parameters[i].size()), SQLITE_TRANSIENT);
    int status = sqlite3_step(statement);
    if (status == SQLITE_ROW && answer != nullptr) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      if (text != nullptr) *answer = std::string(text);
    }
    sqlite3_finalize(statement);
    return status == SQLITE_ROW || status == SQLITE_DONE;
  }

  // Opens, checks and prepares the file; the error says what is wrong with it.
  Status open(const std::string& path) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    auto wrong = [&](const std::string& why) { return Error{Code::kFailed, why}; };
    if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK)
      return wrong(message());
    sqlite3_busy_timeout(handle, kBusyTimeoutMs);
    if (sqlite3_db_readonly(handle, "main") == 1) return wrong("the file is read-only");
    std::optional<std::string> answer;
    if (!query("PRAGMA user_version", {}, &answer)) return wrong(message());
    int version = static_cast<int>(std::strtol(answer.value_or("0").c_str(), nullptr, 10));
    if (version > kSchemaVersion)
      return wrong("it was written by a newer ridge (schema " + std::to_string(version) + ")");
    if (!query("PRAGMA quick_check(1)", {}, &answer)) return wrong(message());
    if (answer != "ok") return wrong(answer.value_or("no answer to quick_check"));
    // The default journal, not WAL: entering WAL needs exclusive access and fails at once, without the busy timeout,
    // when two runs begin together. A trial takes a second; one sync each is negligible.
    bool prepared =
        version == kSchemaVersion || execute(std::string("BEGIN IMMEDIATE;") + kSchema +
                                             ";PRAGMA user_version=" + std::to_string(kSchemaVersion) + ";COMMIT");
    return prepared ? Status{} : Status{wrong(message())};
  }
};

Store::Store(const std::string& path, StoreKey key)
    : path_(path.empty() ? default_store_path() : path), key_(std::move(key)), database_(std::make_unique<Database>()) {
  if (path_.empty()) {
    log::warning(
        "neither XDG_CACHE_HOME nor HOME is set; results of this run are not stored. Name a file with --store");
    database_.reset();
  } else if (Status opened = database_->open(path_); !opened) {
    give_up(opened.error().message);
  }
}

Store::~Store() = default;

std::optional<Trial> Store::find(const Candidate& candidate, int ordinal) {
  const std::optional<Json> json = find(key_text(candidate, key_), ordinal);
  if (!json) return std::nullopt;
  Result<Trial> trial = from_json<Trial>(*json);
  return trial ? std::optional(std::move(trial).value()) : std::nullopt;
}

void Store::keep(const Candidate& candidate, int ordinal, const Trial& trial) {
  keep(key_text(candidate, key_), ordinal, to_json(trial));
}

std::optional<Json> Store::find(const std::string& what, int ordinal) {
  if (!database_) return std::nullopt;
  std::vector<std::string> parameters{key_.machine, key_.engine, key_.model,
                                      key_.shapes,  what,        std::to_string(ordinal)};
  std::optional<std::string> found;
  if (!database_->query("SELECT result FROM trial WHERE machine=? AND engine=? AND model=? AND shapes=? AND candidate=?"
                        " AND ordinal=CAST(? AS INTEGER)",
                        parameters, &found)) {
    give_up(database_->message());
    return std::nullopt;
  }
  if (!found) return std::nullopt;
  Result<Json> json = parse_json(*found, "tuning store " + path_);
  return json ? std::optional(std::move(*json)) : std::nullopt;  // an unreadable entry is measured again
}

void Store::keep(const std::string& what, int ordinal, const Json& record) {
  if (!database_) return;
  std::vector<std::string> parameters{
      key_.machine, key_.engine, key_.model, key_.shapes, what, std::to_string(ordinal), dump_json(record)};
  if (!database_->query("INSERT OR REPLACE INTO trial VALUES (?,?,?,?,?,CAST(? AS INTEGER),?)", parameters))
    give_up(database_->message());
}

void Store::clear() {
  if (!database_) return;
  std::vector<std::string> parameters{key_.machine, key_.engine, key_.model, key_.shapes};
  if (!database_->query("DELETE FROM trial WHERE machine=? AND engine=? AND model=? AND shapes=?", parameters))
    give_up(database_->message());
}

void Store::give_up(const std::string& why) {
  log::warning("tuning store {}: {}; results of this run are not stored. Remove the file, or name another with --store",
               path_, why);
  database_.reset();
}

std::string default_store_path() { return cache_folder("tune.sqlite"); }

}  // namespace ridge::tune
