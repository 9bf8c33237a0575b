# Tests that run a program as several processes.
#
#   godwit_process_test(NAME hello RANKS 1 2 5 LAUNCHERS mpirun godwit torch hosts COMMAND $<TARGET_FILE:hello>
#                       [TIMEOUT 120] [STATUS 0|nonzero|any] [EXPECT regex...] [REJECT regex...]
#                       [ENVIRONMENT NAME=value...] [LAUNCHER_ARGS arg...] [LABELS label...])
#
# makes one test per launcher and number of ranks: process.hello.mpirun.2 and so on. Launchers: Open MPI's mpirun,
# `godwit run`, torchrun's environment set by hand, and mpirun over two fake hosts (root only, else skipped).
# One such test runs at a time: each wants all cores. (COST lets that row begin first, with other tests beside it.)
# A sanitizer build runs only `godwit`, and of the numbers of ranks only the largest up to 4.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(GODWIT_LAUNCH ${CMAKE_CURRENT_LIST_DIR}/launch.py)

function(godwit_process_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT;STATUS" "RANKS;LAUNCHERS;COMMAND;EXPECT;REJECT;ENVIRONMENT;LAUNCHER_ARGS;LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  set(options)
  if(T_STATUS)
    list(APPEND options --expect-status=${T_STATUS})
  endif()
  foreach(pattern ${T_EXPECT})
    list(APPEND options --expect=${pattern})
  endforeach()
  foreach(pattern ${T_REJECT})
    list(APPEND options --reject=${pattern})
  endforeach()
  foreach(argument ${T_LAUNCHER_ARGS})
    list(APPEND options --launcher-arg=${argument})
  endforeach()
  if(GODWIT_SANITIZE)
    list(FILTER T_LAUNCHERS INCLUDE REGEX "^godwit$")
    list(FILTER T_RANKS INCLUDE REGEX "^[1-4]$")
    list(SORT T_RANKS ORDER DESCENDING)
    list(SUBLIST T_RANKS 0 1 T_RANKS)
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * 4")
  endif()
  math(EXPR limit "${T_TIMEOUT} + 60")
  foreach(launcher ${T_LAUNCHERS})
    foreach(ranks ${T_RANKS})
      set(test process.${T_NAME}.${launcher}.${ranks})
      add_test(NAME ${test}
               COMMAND Python3::Interpreter ${GODWIT_LAUNCH} --launcher ${launcher} -n ${ranks} --timeout ${T_TIMEOUT}
                       --godwit ${PROJECT_BINARY_DIR}/bin/godwit ${options} -- ${T_COMMAND})
      set_tests_properties(${test} PROPERTIES LABELS "process;${T_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${limit}
                           RESOURCE_LOCK ranks COST 10 ENVIRONMENT "${T_ENVIRONMENT}")
    endforeach()
  endforeach()
endfunction()
