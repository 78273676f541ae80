# Run by cmake --install after the program is in place. Sets of RidgeInstall.cmake: source, build, deps, version,
# static_libraries.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
set(program "${root}/bin/ridge")
set(python "${deps}/python/bin/python")

# For a package ($RIDGE_PATCHELF, set by ./dev package): the shared libraries that differ between distributions go
# beside the plugin, each under the name it is asked for by, and find one another there. OpenSSL stays the system's,
# whose corrections come without a new ridge.
set(libraries "")
if(DEFINED ENV{RIDGE_PATCHELF})
  file(GLOB plugins "${root}/lib/ridge/libridge_*")
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${program}" MODULES ${plugins} RESOLVED_DEPENDENCIES_VAR libraries
       PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|z|ssl|crypto)\\.so\\." "^libopenvino"
                           "^libtbb\\.so\\.")
  foreach(library IN LISTS libraries)
    get_filename_component(name "${library}" NAME)
    file(COPY_FILE "${library}" "${root}/lib/ridge/${name}")
    execute_process(COMMAND "$ENV{RIDGE_PATCHELF}" --set-rpath "$ORIGIN" "${root}/lib/ridge/${name}"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
execute_process(
  COMMAND "${python}" "${source}/packaging/notices.py" "${build}" "${deps}"
          "${root}/share/doc/ridge/THIRD-PARTY-NOTICES" ${libraries} ${static_libraries}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${python}" "${source}/packaging/man_pages.py" "${version}" "${root}/share/man/man1"
                COMMAND_ERROR_IS_FATAL ANY)

set(completion_bash "bash-completion/completions/ridge")
set(completion_zsh "zsh/vendor-completions/_ridge")
set(completion_fish "fish/vendor_completions.d/ridge.fish")
foreach(shell bash zsh fish)
  get_filename_component(folder "${root}/share/${completion_${shell}}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${program}" completion ${shell} OUTPUT_FILE "${root}/share/${completion_${shell}}"
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()

set(PREFIX "${CMAKE_INSTALL_PREFIX}")
configure_file("${source}/packaging/ridge.service" "${root}/lib/systemd/system/ridge.service" @ONLY)
