# Tests beside the unit tests, each known to ctest by name and label:
#   cases     tests/cases/**.case              run_cases.py: command, files, expected text
#   protocol  tests/protocol/test_*.py         stock clients against a real server
#   process   tests/process/test_*.py          start, kill, reload
#   paths     tests/paths/*.sh                 what three kinds of users do, command by command as docs/guides has it
#   package   tests/package/test_*.py          installation, completions, Python module, packages (by ./dev package)
#   models    tests/models/test_*.py           reference models, independent counters
#   fuzz      src/**/*_fuzz.cc                 a short run of each fuzz target that ./dev test has built
# A file that says "ctest: serial" in its first lines measures time and runs alone; "ctest: timeout N" sets its limit
# [s].
if(RIDGE_FUZZ OR NOT TARGET ridge)
  return()
endif()
set(python "${RIDGE_DEPS}/python/bin/python")

function(ridge_script_test label name file)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "COMMAND")
  add_test(NAME "${label}.${name}" COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
  # Long tests begin first, beside the short ones: scripts before unit tests, and those with a limit of their own before
  # all.
  set_property(TEST "${label}.${name}" PROPERTY COST 60)
  # pocl's compiled kernels are kept beside the build, whatever cache folder a test gives to ridge.
  set(environment "RIDGE_PROC_ROOT=/dev/null" "RIDGE=$<TARGET_FILE:ridge>" "RIDGE_DEPS=${RIDGE_DEPS}"
                  "RIDGE_SOURCE=${PROJECT_SOURCE_DIR}" "RIDGE_TEST_SUPPORT=${RIDGE_TEST_SUPPORT}"
                  "POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache/pocl")
  set_tests_properties(
    "${label}.${name}"
    PROPERTIES LABELS "${label}" TIMEOUT 300 SKIP_RETURN_CODE 77
               ENVIRONMENT "${environment}")
  file(STRINGS "${file}" marks LIMIT_COUNT 20 REGEX "ctest: ")
  if(marks MATCHES "ctest: serial")
    set_tests_properties("${label}.${name}" PROPERTIES RUN_SERIAL ON)
  endif()
  if(marks MATCHES "ctest: timeout ([0-9]+)")
    set_tests_properties("${label}.${name}" PROPERTIES TIMEOUT "${CMAKE_MATCH_1}" COST "${CMAKE_MATCH_1}")
  endif()
  # A changed mark takes effect at the next build.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endfunction()

set(cases_root "${PROJECT_SOURCE_DIR}/tests/cases")
file(GLOB_RECURSE cases CONFIGURE_DEPENDS "${cases_root}/*.case")
foreach(case IN LISTS cases)
  file(RELATIVE_PATH name "${cases_root}" "${case}")
  string(REGEX REPLACE "\\.case$" "" name "${name}")
  ridge_script_test(cases "${name}" "${case}" COMMAND "${python}" "${PROJECT_SOURCE_DIR}/tests/run_cases.py" "${case}")
endforeach()

# The plugins that schemathesis brings take a second of every start, and no test is written with them.
foreach(label protocol process models package)
  file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${label}/test_*.py")
  foreach(script IN LISTS scripts)
    get_filename_component(name "${script}" NAME_WE)
    string(REGEX REPLACE "^test_" "" name "${name}")
    ridge_script_test(${label} "${name}" "${script}"
                      COMMAND "${python}" -m pytest -q -rs -p no:cacheprovider -p no:schemathesis -p no:anyio
                              "--rootdir=${PROJECT_SOURCE_DIR}/tests" "${script}")
  endforeach()
endforeach()

file(GLOB paths CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/paths/*.sh")
foreach(script IN LISTS paths)
  get_filename_component(name "${script}" NAME_WE)
  ridge_script_test(paths "${name}" "${script}" COMMAND bash "${script}")
endforeach()

file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_fuzz.cc")
foreach(fuzzer IN LISTS fuzzers)
  get_filename_component(stem "${fuzzer}" NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name "${stem}")
  ridge_script_test(fuzz "${name}" "${fuzzer}"
                    COMMAND sh "${PROJECT_SOURCE_DIR}/tests/run_fuzz.sh" "${PROJECT_SOURCE_DIR}/build/fuzz/${stem}"
                            "${PROJECT_SOURCE_DIR}/tests/corpus/${name}")
endforeach()
