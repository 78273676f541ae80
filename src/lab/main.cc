// ridge-lab: the program that `ridge lab` starts.
#include "cli/program.h"
#include "cli/terminal.h"
#include "lab/program.h"

int main(int argc, char** argv) {
  return ridge::cli::run_program(argc, argv, [](std::span<const std::string> arguments) {
    ridge::cli::show_log_as_text();
    ridge::cli::set_log_level_from_environment();
    return ridge::lab::lab(arguments);
  });
}
