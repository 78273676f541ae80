#include "engine/model_file.h"

#include "engine/own_format.h"

namespace ridge::engine {

Result<model::UnboundModel> read_model(const std::string& path, const std::string& library) {
  const Engine* owner = owner_of(path);
  return owner == nullptr || owner->read_model == nullptr ? model::UnboundModel::read(path)
                                                          : owner->read_model(path, library);
}

}  // namespace ridge::engine
