#include "cli/model_argument.h"

#include "app/download.h"
#include "cli/terminal.h"

namespace ridge::cli {

Status fetch_model(std::string& model) {
  if (!app::is_url(model)) return {};
  RIDGE_ASSIGN(model, app::download(model, {}, interruptible("download")));
  return {};
}

}  // namespace ridge::cli
