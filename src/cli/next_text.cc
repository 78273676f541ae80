#include "cli/next_text.h"

#include "app/next_steps.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::cli {

void print_next(const std::vector<std::string>& lines, std::string_view heading) {
  if (lines.empty() || is_quiet()) return;
  print("\n" + std::string(heading));
  for (const std::string& line : lines) print_verbatim(fitted_command(line, 2, output_columns()));
}

std::vector<std::string> again_lines(const std::string& line, const std::string& file, bool comparable) {
  const std::string again = file == "again.json" ? "now.json" : "again.json";
  std::vector<std::string> lines = {app::repeated(line, again)};
  if (comparable) lines.push_back("ridge compare " + app::shell_word(file) + " " + again);
  return lines;
}

std::string model_words(const std::string& model, const std::vector<std::string>& shapes, const std::string& device) {
  std::string text = app::shell_word(model);
  for (const std::string& shape : shapes) text += " --shape " + app::shell_word(shape);
  return device.empty() || device == "cpu" ? text : text + " --device " + app::shell_word(device);
}

}  // namespace ridge::cli
