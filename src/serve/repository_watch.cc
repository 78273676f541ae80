#include "serve/repository_watch.h"

namespace ridge::serve {

RepositoryChanges compare_views(const RepositoryView& before, const RepositoryView& now) {
  RepositoryChanges changes;
  for (const auto& [name, fingerprint] : now) {
    auto known = before.find(name);
    if (known == before.end() || known->second != fingerprint) changes.load.push_back(name);
  }
  for (const auto& [name, fingerprint] : before)
    if (!now.contains(name)) changes.unload.push_back(name);
  return changes;
}

}  // namespace ridge::serve
