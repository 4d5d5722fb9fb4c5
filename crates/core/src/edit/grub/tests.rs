use proptest::prelude::*;

use super::*;

/// The file that Debian 13 installs, shortened.
const DEBIAN: &str = "# If you change this file, run 'update-grub' afterwards to update\n# /boot/grub/grub.cfg.\n\
    GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Debian} ) 2>/dev/null || echo Debian`\n\
    GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n\n# Uncomment\n#GRUB_CMDLINE_LINUX=\"x\"\n";

const WANTED: [(&str, &str); 2] = [("zswap.enabled", "1"), ("zswap.compressor", "lz4")];

fn arguments(text: &str) -> String {
    effective(&[("grub", text)]).expect("plain").arguments()
}

#[test]
fn debians_file_changes_in_one_place() {
    let text = set(DEBIAN, &WANTED, &["zswap."]).expect("plain");
    let expect = DEBIAN.replace("\"quiet\"", "\"quiet zswap.enabled=1 zswap.compressor=lz4\"");
    assert_eq!(text, expect);
    assert_eq!(set(&text, &WANTED, &["zswap."]), Ok(text.clone()));
    assert_eq!(set(&text, &[], &["zswap."]).as_deref(), Ok(DEBIAN));
    assert_eq!(arguments(&text), "quiet zswap.enabled=1 zswap.compressor=lz4");
}

#[test]
fn quotes_stay_as_they_are() {
    let both = "zswap.enabled=1 zswap.compressor=lz4";
    for (value, expect) in [
        ("\"quiet\"", format!("\"quiet {both}\"")),
        ("'quiet  splash '", format!("'quiet  splash {both} '")),
        ("\"zswap.enabled=0 quiet zswap.zpool=z3fold\"", "\"zswap.enabled=1 quiet zswap.compressor=lz4\"".into()),
        ("\"\"", format!("\"{both}\"")),
        ("", format!("\"{both}\"")),
        ("quiet", format!("\"quiet {both}\"")),
        ("a\\ b", format!("\"a b {both}\"")),
        ("\"dyndbg=\\\"file a +p\\\" \\x$\" # why", format!("\"dyndbg=\\\"file a +p\\\" \\x$ {both}\" # why")),
        ("\"$GRUB_CMDLINE_LINUX \\$x\" ; # c", format!("\"$GRUB_CMDLINE_LINUX \\$x {both}\" ; # c")),
        ("${GRUB_CMDLINE_LINUX}", format!("\"${{GRUB_CMDLINE_LINUX}} {both}\"")),
        ("\"é\"\r", format!("\"é {both}\"\r")),
    ] {
        let text = format!("A=1\n{DEFAULT}={value}\nB='x\ny'\n");
        let expect = format!("A=1\n{DEFAULT}={expect}\nB='x\ny'\n");
        let once = set(&text, &WANTED, &["zswap."]);
        assert_eq!(once.as_ref(), Ok(&expect), "{value}");
        assert_eq!(set(&expect, &WANTED, &["zswap."]).as_ref(), Ok(&expect), "{value} twice");
    }
    assert_eq!(set(&format!("export {DEFAULT}+=x"), &[], &["x"]), Ok(format!("export {DEFAULT}+=")));
}

#[test]
fn blanks_in_a_value_are_quoted_in_every_style() {
    for (value, expect) in [
        ("\"quiet\"", "\"quiet d=\\\"a b\\\"\""),
        ("'quiet'", "'quiet d=\"a b\"'"),
        ("quiet", "\"quiet d=\\\"a b\\\"\""),
        ("d=1", "\"d=\\\"a b\\\"\""),
    ] {
        let text = format!("{DEFAULT}={value}\n");
        assert_eq!(set(&text, &[("d", "a b")], &[]), Ok(format!("{DEFAULT}={expect}\n")), "{value}");
    }
    assert_eq!(set(&format!("{DEFAULT}=d=1\n"), &[("d", "0")], &[]), Ok(format!("{DEFAULT}=d=0\n")), "bare stays bare");
    let error = set(&format!("{DEFAULT}='quiet'\n"), &[("d", "it's")], &[]).expect_err("no quote fits");
    assert!(error.found.contains("single quotes"), "{error}");
    assert!(set(&format!("{DEFAULT}=\"quiet\"\n"), &[("d", "it's")], &[]).is_ok());
}

#[test]
fn old_words_go_from_every_assignment() {
    let text = format!("{LINUX}='zswap.enabled=0 ro'\n{DEFAULT}=\"zswap.enabled=0\"\n{DEFAULT}+=\" quiet\"\n");
    let expect = format!("{LINUX}='ro'\n{DEFAULT}=\"\"\n{DEFAULT}+=\" quiet zswap.enabled=1 zswap.compressor=lz4\"\n");
    assert_eq!(set(&text, &WANTED, &[]), Ok(expect));
}

#[test]
fn a_file_without_the_variable_gets_it() {
    assert_eq!(set("A=1", &WANTED[..1], &[]), Ok(format!("A=1\n{DEFAULT}=\"zswap.enabled=1\"\n")));
    assert_eq!(set("", &[("dyndbg", "a b")], &[]), Ok(format!("{DEFAULT}=\"dyndbg=\\\"a b\\\"\"\n")));
    assert_eq!(set("A=1", &[], &["zswap."]), Ok("A=1".into()));
}

#[test]
fn files_are_read_in_order() {
    let main = format!("{LINUX}=root=x\n{DEFAULT}=\"quiet\"\n{DEFAULT}+=' splash'\n");
    let dropin = dropin(&WANTED);
    assert!(
        dropin.ends_with("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT zswap.enabled=1 zswap.compressor=lz4\"\n")
    );
    let both = effective(&[("a", &main), ("b", &dropin)]).expect("plain");
    assert_eq!(both.arguments(), "root=x quiet splash zswap.enabled=1 zswap.compressor=lz4");
    let replaced = effective(&[("a", &main), ("b", "GRUB_CMDLINE_LINUX_DEFAULT=\n")]).expect("plain");
    assert_eq!(replaced.arguments(), "root=x");
}

#[test]
fn what_only_a_shell_can_read_is_refused() {
    for (text, line, found) in [
        ("D=\"$(cat /x)\"", 1, "a command substitution"),
        ("D=`cat /x`", 1, "a command substitution"),
        ("D=\"$OTHER quiet\"", 1, "the variable `$OTHER`"),
        ("D=\"${D:-quiet}\"", 1, "the variable"),
        ("D=\"$1\"", 1, "the variable `$1`"),
        ("D=\"quiet", 1, "an opening \" without"),
        ("D='quiet", 1, "an opening ' without"),
        ("D=\"quiet\nsplash\"", 1, "an opening \" without"),
        ("D='quiet \\\nsplash'", 1, "an opening ' without"),
        ("D=\"quiet \\\r\nsplash\"", 1, "goes on in the next one"),
        ("D=\"a \\\n$(b)\"", 1, "a command substitution"),
        ("D=quiet\\\n", 1, "goes on in the next one"),
        ("D=\"a\"'b'", 1, "several quoted parts"),
        ("D=a\"b\"", 1, "quotes in the middle"),
        ("D=\"a\" cmd", 1, "a command behind"),
        ("D=a&", 1, "a `&`"),
        ("A=1; D=\"quiet\"", 1, "`A=1; GRUB_"),
        ("if [ -f x ]; then\n  D=\"quiet\"\nfi", 2, "inside a block such as `if` from line 1"),
        ("if true; then D=quiet; fi", 1, "`if true"),
        ("f() {\nD=x\n}", 2, "inside a block"),
        ("case $x in\na) D=x;;\nesac", 2, "inside a block"),
        ("echo \"\nD=x\n\"", 2, "inside a quote from line 1"),
        ("echo \\\nD=x\n", 2, "LINUX_DEFAULT=x`"),
        ("cat <<E\nD=x\nE\n", 2, "inside a here-document"),
        ("( D=x )", 1, "( "),
        ("unset D", 1, "unset"),
        ("A='open\nB=2", 1, "a quote that is never closed"),
        ("if x\n", 1, "a block such as `if` that is never closed"),
    ] {
        let text = text.replace("D=", "GRUB_CMDLINE_LINUX_DEFAULT=").replace("unset D", "unset GRUB_CMDLINE_LINUX_DEFAULT");
        let error = set(&text, &WANTED, &[]).expect_err(&text);
        assert!(error.line == line && error.found.contains(found), "{text}: {error}");
        assert!(effective(&[("/etc/default/grub", &text)]).expect_err(&text).to_string().starts_with("/etc/default/grub, line "));
    }
}

#[test]
fn a_value_may_go_on_in_the_next_line() {
    let both = "zswap.enabled=1 zswap.compressor=lz4";
    for (value, expect, read) in [
        ("\"quiet \\\n  splash\"", format!("\"quiet \\\n  splash {both}\""), "quiet   splash"),
        ("\"quiet \\\nzswap.zpool=z3fold \\\nsplash\" # c", format!("\"quiet \\\nsplash {both}\" # c"), "quiet splash"),
        ("\"zswap.enabled=0 \\\nquiet\"", "\"zswap.enabled=1 \\\nquiet zswap.compressor=lz4\"".into(), "quiet"),
        ("\"qui\\\net \\\n\"", format!("\"qui\\\net {both} \\\n\""), "quiet"),
        ("qui\\\net", format!("\"quiet {both}\""), "quiet"),
        ("\\\nquiet", format!("\\\n\"quiet {both}\""), "quiet"),
        ("\\\n\\\n'quiet'", format!("\\\n\\\n'quiet {both}'"), "quiet"),
        ("\"a \\\n$GRUB_CMDLINE_LINUX\"", format!("\"a \\\n$GRUB_CMDLINE_LINUX {both}\""), "a"),
    ] {
        let text = format!("A=1\n{DEFAULT}={value}\nB='x\ny'\n");
        let expect = format!("A=1\n{DEFAULT}={expect}\nB='x\ny'\n");
        let once = set(&text, &WANTED, &["zswap."]);
        assert_eq!(once.as_ref(), Ok(&expect), "{value}");
        assert_eq!(set(&expect, &WANTED, &["zswap."]).as_ref(), Ok(&expect), "{value} twice");
        assert_eq!(arguments(&set(&text, &[], &["zswap."]).expect("plain")), read, "{value}");
    }
}

#[test]
fn a_drop_in_that_sets_the_variable_anew_is_told_from_one_that_adds() {
    for (text, anew) in [
        ("D=\"quiet\"\n", true),
        ("D=\"$D more\"\n", false),
        ("D+=\" more\"\n", false),
        ("D=\"x\"\nD=\"$D y\"\n", true),
        ("D=\"$L\"\n", true),
        ("L=\"x\"\n", false),
    ] {
        let text = text.replace('D', DEFAULT).replace("L=", "GRUB_CMDLINE_LINUX=").replace("$L\"", "$GRUB_CMDLINE_LINUX\"");
        assert_eq!(sets_anew(&text), Ok(anew), "{text}");
    }
}

#[test]
fn lines_that_only_look_odd_are_passed_over() {
    for text in [
        "# it's a remark\nD=\"quiet\"\n",
        "A=\"$(sed 's, release .*$,,g' /etc/system-release)\"\nD=\"quiet\"\n",
        "if [ -x /x ]; then\n  A=1 # D=\"no\nfi\nD='quiet'\n",
        "for x in a b; do echo if; done\nD=quiet\n",
        "f() { echo fi; }\nD=quiet\n",
        "GRUB_CMDLINE_LINUX_XEN=\"$D\"\nD=quiet # D=\"$(no)\"\n",
        "A=1 \\\n  B=2\nD=quiet",
        "echo  if\nD=quiet\n",
        "MY_D=$(x)\nD=quiet\n",
        "read A < /etc/x\nD=quiet\n",
        "A=\"${B:-it's}\"\nD=quiet\n",
    ] {
        let text = text.replace("D=", "GRUB_CMDLINE_LINUX_DEFAULT=").replace("$D", "$GRUB_CMDLINE_LINUX_DEFAULT");
        assert_eq!(arguments(&text), "quiet", "{text}");
    }
}

#[test]
fn a_value_that_doubles_itself_is_refused() {
    let line = format!("{DEFAULT}=\"${DEFAULT}${DEFAULT}\"\n");
    let text = format!("{DEFAULT}=x\n{}", line.repeat(40));
    assert!(effective(&[("", &text)]).is_err_and(|error| error.found.contains("64 KiB")));
}

fn shell_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ a-z#\"'\\\\$`(){};=]{0,12}".prop_map(|line| line),
        "[ a-z=.\"'\\\\$]{0,14}".prop_map(|value| format!("{DEFAULT}={value}")),
        "[ a-z=.é]{0,14}".prop_map(|value| format!("{DEFAULT}=\"{value}\"")),
        "[ a-z=.é]{0,6}(\\\\\n[ a-z=.é]{0,6}){1,2}".prop_map(|value| format!("{DEFAULT}=\"{value}\"")),
        "[ a-z=.]{0,14}".prop_map(|value| format!("{LINUX}+='{value}'\r")),
    ]
}

proptest! {
    #[test]
    fn setting_twice_is_setting_once(lines in prop::collection::vec(shell_line(), 0..6)) {
        let text = lines.join("\n");
        if let Ok(once) = set(&text, &WANTED, &["a"]) {
            prop_assert_eq!(set(&once, &WANTED, &["a"]), Ok(once.clone()));
            let arguments = arguments(&once);
            prop_assert_eq!(super::super::cmdline::get(&arguments, "zswap.compressor"), Some("lz4".to_owned()));
            // A value that goes on is one line with its assignment; a backslash behind a backslash does not go on.
            let joined = |text: &str| text.replace("\\\\", "--").replace("\\\n", "");
            let other = |text: &str| joined(text).lines().filter(|line| !line.contains("GRUB_")).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(other(&once), other(&text));
        }
    }

    #[test]
    fn arbitrary_text_is_safe(text in "(?s).{0,80}") {
        let _ = set(&text, &WANTED, &["zswap."]);
        let _ = effective(&[("x", &text)]);
    }
}
