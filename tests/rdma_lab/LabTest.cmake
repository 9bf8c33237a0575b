# Tests that run in the RDMA lab: one boot each, see README.md.
#
#   godwit_lab_test(NAME put DRIVER rxe HOSTS 2 COMMAND $<TARGET_FILE:conformance_test> --gtest_filter=Verbs*
#                   [KERNEL stable|new] [IF_CACHED] [SHARED] [TIMEOUT 300] [ENVIRONMENT NAME=value...] [LABELS label...]
#                   [RANKS 4 [STATUS 0|nonzero|any] [EXPECT regex...] [REJECT regex...] [LAUNCHER_ARGS arg...]])
#
# makes the test lab.put.rxe.2 (lab.put.new.rxe.2 with the new kernel). Without RANKS, COMMAND runs on host 0 as it is;
# with RANKS it runs as so many ranks under mpirun, spread over the hosts, checked as godwit_process_test does.
# DRIVER may be rxe,rxe or rxe,siw: two devices per host. Where the lab cannot run, the test is skipped; with
# IF_CACHED also where the kernel was not downloaded before.
set(GODWIT_LAB ${CMAKE_CURRENT_LIST_DIR})

function(godwit_lab_test)
  cmake_parse_arguments(T "SHARED;IF_CACHED" "NAME;DRIVER;HOSTS;KERNEL;TIMEOUT;RANKS;STATUS"
                        "ENVIRONMENT;LABELS;COMMAND;EXPECT;REJECT;LAUNCHER_ARGS" ${ARGN})
  if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_DRIVER OR NOT T_HOSTS OR NOT T_COMMAND)
    message(FATAL_ERROR "godwit_lab_test(${T_NAME}): NAME, DRIVER, HOSTS and COMMAND are needed; "
                        "not known: '${T_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  string(REPLACE "," "_" driver ${T_DRIVER})
  set(test lab.${T_NAME}.${driver}.${T_HOSTS})
  set(options --driver ${T_DRIVER} --hosts ${T_HOSTS} --timeout ${T_TIMEOUT})
  if(T_KERNEL)
    list(APPEND options --kernel ${T_KERNEL})
  endif()
  if(T_KERNEL STREQUAL new)
    set(test lab.${T_NAME}.new.${driver}.${T_HOSTS})
  endif()
  if(T_SHARED)
    list(APPEND options --shared)
  endif()
  if(T_IF_CACHED)
    list(APPEND options --if-cached)
  endif()
  foreach(variable ${T_ENVIRONMENT})
    list(APPEND options --env ${variable})
  endforeach()
  if(T_RANKS)
    math(EXPR limit "${T_TIMEOUT} - 60")  # launch.py ends first: it says what still runs
    set(launch ${Python3_EXECUTABLE} -B ${GODWIT_LAUNCH} --launcher lab -n ${T_RANKS} --timeout ${limit})
    if(T_STATUS)
      list(APPEND launch --expect-status=${T_STATUS})
    endif()
    foreach(pattern ${T_EXPECT})
      list(APPEND launch --expect=${pattern})
    endforeach()
    foreach(pattern ${T_REJECT})
      list(APPEND launch --reject=${pattern})
    endforeach()
    foreach(argument ${T_LAUNCHER_ARGS})
      list(APPEND launch --launcher-arg=${argument})
    endforeach()
    set(T_COMMAND ${launch} -- ${T_COMMAND})
  endif()
  add_test(NAME ${test} COMMAND ${GODWIT_LAB}/run ${options} -- ${T_COMMAND})
  math(EXPR limit "${T_TIMEOUT} + 600")  # a first run downloads a kernel
  set_tests_properties(${test} PROPERTIES LABELS "rdma_lab;no_sanitizer;${T_LABELS}" SKIP_RETURN_CODE 77
                       RESOURCE_LOCK ranks TIMEOUT ${limit})
endfunction()
