//! A model that Python trained, served from Rust; and the other way round.
//!
//! ```text
//! serve predict model.safetensors < rows.csv     one line for each row: its values, its label
//! serve train model.safetensors < labelled.csv   trains on rows whose last entry is a label
//! ```
//!
//! In Python, `mercer.save(model, "model.safetensors")` writes what the first reads, and
//! `mercer.load("model.safetensors")` reads what the second writes. Try it:
//!
//! ```text
//! python -c "import mercer; from sklearn.datasets import load_iris; \
//!     mercer.save(mercer.SVC().fit(*load_iris(return_X_y=True)), 'iris.safetensors')"
//! echo 5.1,3.5,1.4,0.2 | cargo run --features persist --example serve predict iris.safetensors
//! ```

use mercer::persist::Label;
use mercer::{Kernel, Svc, SvcModel};
use ndarray::Array2;
use std::error::Error;
use std::io::{self, BufRead};

/// Reads lines of entries that are separated by commas.
fn lines() -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let lines = io::stdin().lock().lines();
    let split = |line: String| {
        line.split(',')
            .map(|word| word.trim().to_string())
            .collect()
    };
    Ok(lines
        .map(|line| line.map(split))
        .collect::<Result<_, _>>()?)
}

fn matrix(lines: &[Vec<String>]) -> Result<Array2<f64>, Box<dyn Error>> {
    let columns = lines.first().map_or(0, Vec::len);
    let words = lines.iter().flatten();
    let numbers = words.map(|word| word.parse()).collect::<Result<_, _>>()?;
    Ok(Array2::from_shape_vec((lines.len(), columns), numbers)?)
}

fn predict(path: &str) -> Result<(), Box<dyn Error>> {
    let model = SvcModel::<Label>::load(path)?;
    let x = matrix(&lines()?)?;
    let values = model.decision_function(x.view())?;
    for (values, label) in values.rows().into_iter().zip(model.predict(x.view())?) {
        // Rust prints as many digits as it takes to read the same number again.
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        println!("{},{label}", values.join(","));
    }
    Ok(())
}

fn train(path: &str) -> Result<(), Box<dyn Error>> {
    let mut lines = lines()?;
    let labels: Vec<String> = lines.iter_mut().filter_map(Vec::pop).collect();
    let x = matrix(&lines)?;
    let model = Svc::new(Kernel::rbf(0.5)).c(10.0).fit(x.view(), &labels)?;
    model.save(path)?;
    println!("{} support vectors", model.machines().support.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["predict", path] => predict(path),
        ["train", path] => train(path),
        _ => Err("usage: serve (predict | train) model.safetensors < rows.csv".into()),
    }
}
