//! Looks at the machine code of the kernels for what no compiler may bring back unseen.
//!
//! From eight columns on, compilers have vectorized the loop around blocks of rows instead of the loop over
//! their lanes, with gathers and scatters that take several times as long. Nothing but the code shows it:
//! the results are the same.

use std::process::Command;

/// Part of every symbol of a kernel that was compiled for AVX-512, in either way of mangling.
const KERNEL: &str = "7kernels8dispatch6avx512";

/// This program's kernels, each with its instructions; none if there is no `objdump`.
fn kernels() -> Option<Vec<String>> {
    let program = std::env::current_exe().expect("the running test has a path");
    let objdump = Command::new("objdump").args(["--disassemble", "--no-show-raw-insn"]).arg(program).output().ok()?;
    assert!(objdump.status.success(), "{}", String::from_utf8_lossy(&objdump.stderr));
    let text = String::from_utf8_lossy(&objdump.stdout);
    let is_kernel = |function: &&str| function.lines().next().is_some_and(|symbol| symbol.contains(KERNEL));
    Some(text.split("\n\n").filter(is_kernel).map(str::to_owned).collect())
}

#[test]
fn no_kernel_gathers_or_scatters() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("SKIPPED: only the machine code of x86-64 under Linux is looked at");
        return;
    }
    let Some(kernels) = kernels() else {
        eprintln!("SKIPPED: there is no objdump to look at the kernels' machine code with");
        return;
    };
    let n_fused = kernels.iter().filter(|kernel| kernel.contains("vfmadd") && kernel.contains("%zmm")).count();
    assert!(n_fused >= 20, "only {n_fused} of {} functions look like kernels", kernels.len());
    for kernel in &kernels {
        // Address, tab, instruction and operands, where the name of a function called could have such a word.
        let instruction = |line: &str| line.split('\t').nth(1)?.split_whitespace().next().map(str::to_owned);
        let is_slow = |line: &&str| instruction(line).is_some_and(|it| it.contains("gather") || it.contains("scatter"));
        let slow: Vec<&str> = kernel.lines().filter(is_slow).collect();
        assert!(slow.is_empty(), "{}\n{}", kernel.lines().next().unwrap_or_default(), slow.join("\n"));
    }
}
